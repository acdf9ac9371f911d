// page_review.mjs - the Review tab: open texts become a class by keyboard, and go again
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { dark, lowContrast, phone, sticksOut, test } from '../pages/browser.mjs';
import { ask, file, kill, openTab, predict, ready, saved, serve, shot, tsv, type, until, visit, wide } from './page_lib.mjs';

// Two topics that the model does not know; some of the second are hostile.
const topic = (words, n, salt) => Array.from({ length: n }, (_, i) => Array.from({ length: 5 }, (_, k) => words[(i * (k + salt) + (i >> 2) * k + k * k) % words.length]).join(' ') + ' ' + words[i % words.length]);
const candidates = [...new Set([...topic(['9', '8', '7', '6', '5', '3', '2'], 60, 3), ...topic(['!', '?', '(', ')', ';', ':', '<b>!</b>'], 60, 2)])];

// A service of a copy of the model, with a store that has open texts.
async function filled(name) {
  for (const end of ['', '-wal', '-shm']) fs.rmSync(file(name + '.db' + end), { force: true });
  for (const end of ['', '.2', '.3', '.4', '.5']) fs.rmSync(file(`${name}.rf.before${end}`), { force: true });
  fs.copyFileSync(file('sample.rf'), file(name + '.rf'));
  const open = predict('sample.rf', candidates).flatMap((a, i) => a.open ? [candidates[i]] : []);
  const server = await serve(name + '.rf', undefined, '--store', file(name + '.db'), '--store-sample', '0');
  await ask(server, { texts: candidates });
  const metric = async () => Number((await (await fetch(server.url + '/metrics')).text()).match(/^ringfence_store_rows_total (\d+)/m)[1]);
  await until('the rows', async () => await metric() === open.length);
  return { server, open };
}
const pending = async server => (await (await fetch(server.url + '/v1/labels')).json()).labels;
const note = page => page.locator('#review-note').innerText();
const reviewed = page => until('the review', async () => /open texts?; |no open texts/.test(await note(page)));
const current = page => page.locator('.item.cur');

export async function run() {
  await test('review: only offered if the service keeps texts', async () => {
    for (const [options, shown] of [[[], false], [['--store', file('offer.db'), '--store-hash'], false], [['--store', file('offer2.db')], true]]) {
      const server = await serve('sample.rf', undefined, ...options);
      await visit(server, wide, async page => {
        await page.goto(server.url + '/#review');
        await ready(page);
        await until('the foot', async () => /ringfence/.test(await page.locator('#foot').innerText()));
        assert.equal(await page.locator('#tab-review').isVisible(), shown, options.join(' '));
        assert.equal(await page.locator('#panel-review').isVisible(), shown);
        assert.equal(await page.locator('#panel-try').isVisible(), !shown);
        if (shown) await until('that there is nothing', async () => /no open texts/.test(await note(page)));
      });
      await kill(server);
    }
  });

  await test('review: a group becomes a class by keyboard, and goes again', async () => {
    const { server, open } = await filled('learn');
    await visit(server, wide, async page => {
      await ready(page);
      await openTab(page, 'review');
      await reviewed(page);
      const groups = await (await fetch(server.url + '/v1/review')).json();
      assert.equal(groups.rejected, open.length);
      assert.ok(groups.groups.length > 0);
      assert.deepEqual(await page.locator('.card h3').allTextContents(), [...groups.groups.map(g => g.name), ...(groups.probably_known.length ? ['Probably of a known class'] : [])]);
      assert.ok((await current(page).innerText()).includes(groups.groups[0].name));
      // moving: the group, its first text, and back
      const first = groups.groups[0];
      await page.keyboard.press('j');
      assert.equal(await current(page).locator('.t').textContent(), first.texts[0].text);
      await page.keyboard.press('j');
      assert.equal(await current(page).locator('.t').textContent(), first.texts[1].text);
      assert.equal(await page.evaluate(() => document.activeElement.classList.contains('cur')), true);
      await shot(page, 'review');
      // one text is not relevant, the next is of the class with the number 1
      await page.keyboard.press('x');
      await until('one fewer', async () => /^1 text: not relevant/.test(await note(page)));
      assert.equal(await current(page).locator('.t').textContent(), first.texts[2].text);
      await page.keyboard.press('1');
      await until('a label', async () => (await pending(server)).length === first.texts[2].count);
      await until('the page to know', async () => (await note(page)).startsWith('1 text: ' + first.texts[2].nearest));
      assert.deepEqual((await pending(server)).map(l => [l.label, l.who]), first.texts[2].ids.map(() => [first.texts[2].nearest, 'page']));
      // the group becomes a new class; its name is suggested
      for (const _ of [1, 2, 3]) await page.keyboard.press('k');
      assert.ok((await current(page).innerText()).includes(first.name));
      await page.keyboard.press('n');
      assert.equal(await page.locator('.acts input').inputValue(), first.name);
      await page.keyboard.press('Escape');
      assert.equal(await page.locator('.acts input').count(), 0);
      await page.keyboard.press('n');
      await page.keyboard.type('<i>brand</i> new');
      await page.keyboard.press('Enter');
      const left = first.texts.slice(0, 1).concat(first.texts.slice(3)), rows = left.reduce((n, t) => n + t.count, 0);
      await until('the labels', async () => (await pending(server)).filter(l => l.label === '<i>brand</i> new').length === rows);
      await until('the list', async () => (await page.locator('#pending').innerText()).includes(`<i>brand</i> new ${rows}, new class`));
      assert.ok(!(await page.locator('.card h3').allTextContents()).includes(first.name));
      // preview, update, undo
      await page.click('#learn-preview');
      await until('the preview', async () => /would change/.test(await page.locator('#learn-note').innerText()));
      assert.match(await page.locator('#learn-report').innerText(), /New: <i>brand<\/i> new\n/);
      await shot(page, 'review-preview', { fullPage: true });
      const labels = async () => (await (await fetch(server.url + '/v1/model')).json()).model.labels;
      assert.ok(!(await labels()).includes('<i>brand</i> new'));
      await page.click('#learn-update');
      await until('the update', async () => /new model is in service/.test(await page.locator('#learn-note').innerText()));
      assert.ok((await labels()).includes('<i>brand</i> new'));
      await until('an empty list', async () => /No labels are waiting/.test(await page.locator('#pending').innerText()));
      await until('the new model in the page', async () => (await page.locator('#card').textContent()).includes('generation 2'));
      await reviewed(page);
      const answers = (await ask(server, { texts: left.map(t => t.text), store: false })).answers;
      assert.ok(answers.filter(a => a.label === '<i>brand</i> new').length > answers.length / 3, JSON.stringify(answers.map(a => a.label)));
      assert.equal(await page.locator('#learn-update').isDisabled(), true);
      await page.click('#learn-undo');
      await until('the undo', async () => /in service again/.test(await page.locator('#learn-note').innerText()));
      assert.ok(!(await labels()).includes('<i>brand</i> new'));
      await until('the labels again', async () => (await page.locator('#pending').innerText()).includes(', new class'));
      assert.equal(await page.locator('#learn-undo').isVisible(), false);
    });
    await kill(server);
  });

  await test('review: what was said can be taken back', async () => {
    const { server } = await filled('back');
    await visit(server, wide, async page => {
      await ready(page);
      await openTab(page, 'review');
      await reviewed(page);
      const before = await page.locator('.item .t').allTextContents();
      // The list of labels comes late, so that "u" is pressed before the last step has ended.
      await page.route('**/v1/labels', async route => { if (route.request().method() === 'GET') await new Promise(r => setTimeout(r, 500)); await route.continue(); });
      for (const key of ['x', '1']) {
        await page.keyboard.press('j');
        await page.keyboard.press(key);
        await until('the label', async () => /Take it back/.test(await note(page)));
        await page.keyboard.press('u');
        await until('the label taken back', async () => (await pending(server)).length === 0);
        await until('the text in its place', async () => (await page.locator('.item .t').allTextContents()).sort().join('\n') === [...before].sort().join('\n'));
      }
      await page.unroute('**/v1/labels');
      // from the list of what is to be learnt: one, then the others
      await page.keyboard.press('k');
      await page.keyboard.press('k');
      await page.keyboard.press('k');
      await page.keyboard.press('n');
      await page.keyboard.press('Enter');
      await until('the labels', async () => (await page.locator('#pending li').count()) > 1);
      const all = (await pending(server)).length;
      await page.locator('#pending summary').first().click();
      await page.locator('#pending li button').first().click();
      await until('one fewer', async () => (await pending(server)).length === all - 1 && (await page.locator('#pending p').innerText()).startsWith(`${all - 1} label`));
      await page.locator('#pending button', { hasText: 'Withdraw all' }).click();
      await until('none', async () => /No labels are waiting/.test(await page.locator('#pending').innerText()));
      assert.deepEqual(await pending(server), []);
    });
    await kill(server);
  });

  await test('try: an answer is corrected in place, with a store and without', async () => {
    const { server } = await filled('fix'), texts = ['where is my parcel', 'the chain fell off', 'hello <b>there</b>'];
    const fix = (page, i) => page.locator('.row').nth(i).locator('.fix');
    await visit(server, wide, async page => {
      await ready(page);
      await type(page, texts);
      const [first, second] = (await ask(server, { texts, store: false })).answers;
      const other = (await (await fetch(server.url + '/v1/model')).json()).model.labels.find(l => l !== first.label && l !== second.label);
      await fix(page, 0).locator('select').selectOption({ label: other });
      await until('the label', async () => (await pending(server)).some(l => l.text === texts[0] && l.label === other && l.who === 'page'));
      await until('that it waits', async () => (await fix(page, 0).innerText()).includes(`Corrected to ${other}. Waits to be learnt: Review.`));
      assert.equal(await page.locator('.row').nth(0).locator('.fixed').innerText(), 'corrected: ' + other);
      // a new class, by keyboard
      await fix(page, 1).locator('select').selectOption('new');
      await page.keyboard.type('<i>new</i>');
      await page.keyboard.press('Enter');
      await until('two labels', async () => (await pending(server)).length === 2 && (await fix(page, 1).innerText()).startsWith('Corrected to <i>new</i>'));
      // open, if it was not; and the name is refused
      await fix(page, 2).locator('select').selectOption('new');
      await page.keyboard.type('open');
      await page.keyboard.press('Enter');
      await until('a refusal', async () => /"open" means none of the classes/i.test(await fix(page, 2).innerText()));
      await fix(page, 2).locator('button', { hasText: 'Cancel' }).click();
      await shot(page, 'correct', { fullPage: true });
      // the same in Review, and withdrawn there
      await openTab(page, 'review');
      await until('both in the list', async () => (await page.locator('#pending li').count()) === 2);
      await page.locator('#pending summary', { hasText: '<i>new</i>' }).click();
      await page.locator('#pending details[open] li button').click();
      await until('one fewer', async () => (await pending(server)).length === 1);
      await openTab(page, 'try');
      await until('the page to know', async () => await fix(page, 1).locator('select').count() === 1);
      // withdrawn in Try; nothing else was kept of what was typed
      await fix(page, 0).locator('button', { hasText: 'Withdraw' }).click();
      await until('none', async () => (await pending(server)).length === 0 && await fix(page, 0).locator('select').count() === 1);
      assert.equal(await page.locator('.row').nth(0).locator('.fixed').isVisible(), false);
    });
    await kill(server);
    const bare = await serve('sample.rf');
    await visit(bare, phone, async page => {
      await ready(page);
      await type(page, texts);
      assert.equal(await page.locator('#try-fixes').isVisible(), false);
      await fix(page, 0).locator('select').selectOption('new');
      await page.keyboard.type('parcels');
      await page.keyboard.press('Enter');
      await until('where it is kept', async () => /Corrected to parcels\. Kept in this page only, as the server keeps no texts/.test(await fix(page, 0).innerText()));
      assert.deepEqual(tsv(await saved(page, '#try-fixes')), [['text', 'label'], [texts[0], 'parcels']]);
      assert.deepEqual(await page.evaluate(sticksOut), []);
      await fix(page, 0).locator('button').click();
      await until('none', async () => !await page.locator('#try-fixes').isVisible());
    });
    await kill(bare);
  });

  await test('review: readable in the dark and on a phone, and refusals are shown', async () => {
    const { server } = await filled('look');
    for (const options of [wide, dark, phone])
      await visit(server, options, async page => {
        await page.goto(server.url + '/#review');
        await ready(page);
        await reviewed(page);
        assert.deepEqual((await page.evaluate(lowContrast)).bad, []);
        assert.deepEqual(await page.evaluate(sticksOut), []);
        if (options !== wide) await shot(page, options === dark ? 'review-dark' : 'review-phone', { fullPage: true });
        if (options === phone) { // by touch
          await page.locator('.card li.item').first().tap();
          assert.ok(await page.locator('.card li.item').first().locator('.acts').isVisible());
        }
        if (options !== wide) return;
        await page.route('**/v1/labels', route => route.request().method() === 'POST' ? route.fulfill({ status: 403, contentType: 'application/json', body: '{"error":{"code":"forbidden","message":"found no token","pointer":""}}' }) : route.continue());
        const before = await page.locator('.item').count();
        await page.keyboard.press('x');
        await until('the refusal', async () => await page.locator('#review-error').isVisible());
        assert.equal(await page.locator('#review-error').innerText(), 'Found no token');
        assert.equal(await page.locator('.item').count(), before);
      }, /403/);
    await kill(server);
  });
}

// page_fence.mjs - the fence of the Evaluate tab: dragged, saved as a model, and undone
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { dark, lowContrast, phone, sticksOut, test } from '../pages/browser.mjs';
import { file, kill, openTab, ready, ringfence, serve, shot, until, visit, wide } from './page_lib.mjs';

// A service of a copy of the model: saving replaces it.
async function start(name, ...options) {
  for (const end of ['', '.2', '.3', '.4', '.5']) fs.rmSync(file(`${name}.rf.before${end}`), { force: true });
  fs.copyFileSync(file('sample.rf'), file(name + '.rf'));
  return serve(name + '.rf', undefined, ...options);
}
async function evaluated(page) {
  await ready(page);
  await openTab(page, 'evaluate');
  await page.setInputFiles('#file', file('test.tsv'));
  await page.locator('#fence').waitFor();
}
const at = async page => Number(await page.locator('#fence').getAttribute('aria-valuenow'));
const shown = page => page.locator('#fence-figures .v').evaluateAll(all => all.map(v => parseFloat(v.textContent)));
// The same figures by the program.
function wanted(model, fence) {
  const e = JSON.parse(ringfence(['eval', file(model), file('test.tsv'), '--fence', String(fence), '--json']));
  const open = e.per_class.open, n_known = e.n - e.n_open, called_open = Math.round(open.recall * e.n_open / 100) / (open.precision / 100 || Infinity);
  return [e.accuracy, e.f1, 100 * (called_open - open.recall * e.n_open / 100) / n_known, 100 - open.recall];
}
const close = (got, want) => got.forEach((x, i) => assert.ok(Math.abs(x - want[i]) < 0.06, `${got} for ${want}`));
const said = (page, what) => until(what, async () => (await page.locator('#fence-note').innerText()).startsWith(what) || null);

export async function run() {
  await test('fence: by mouse and keys, with the figures of eval, saved as a model and undone', async () => {
    const server = await start('fence');
    await visit(server, wide, async page => {
      await evaluated(page);
      assert.equal(await at(page), 0);
      close(await shown(page), wanted('sample.rf', 0));
      assert.equal(await page.locator('#fence-save').isDisabled(), true);
      assert.equal(await page.locator('#fence-undo').isVisible(), false);
      const slider = page.locator('#fence'), low = Number(await slider.getAttribute('aria-valuemin')), high = Number(await slider.getAttribute('aria-valuemax'));
      assert.ok(low < 0 && high > 0 && await slider.getAttribute('role') === 'slider');
      // keys
      await slider.focus();
      await page.keyboard.press('ArrowRight');
      await until('a step', async () => await at(page) > 0);
      const step = await at(page);
      await page.keyboard.press('PageUp');
      await until('ten steps', async () => Math.abs(await at(page) - 11 * step) < 1e-9);
      close(await shown(page), wanted('sample.rf', -11 * step));
      assert.match(await slider.getAttribute('aria-valuetext'), /^\d+\.\d+: accuracy \d+\.\d %, F1 \d+\.\d %, \d+\.\d % of known texts called open, \d+\.\d % of open texts let in$/);
      for (const [key, to] of [['Home', low], ['End', high], ['Escape', 0]]) { await page.keyboard.press(key); await until(key, async () => Math.abs(await at(page) - to) < 1e-9); }
      // mouse: the knob to a quarter of the way left of 0
      await slider.scrollIntoViewIfNeeded();
      const box = await page.locator('.fencing').boundingBox(), knob = await slider.boundingBox(), x = knob.x + knob.width / 2;
      await page.mouse.move(x, knob.y + 100);
      await page.mouse.down();
      await page.mouse.move((x + box.x) / 2, knob.y + 100, { steps: 4 });
      await page.mouse.move(x - (x - box.x) / 4, knob.y + 100, { steps: 4 });
      await page.mouse.up();
      await until('a looser fence', async () => await at(page) < 0);
      const to = await at(page);
      assert.ok(Math.abs(to - low / 4) < 2 * step + Math.abs(low) / 50, `${to} of ${low}`);
      await page.mouse.move(x + 50, knob.y + 100); // nothing is dragged any more
      const figures = await shown(page);
      assert.equal(await at(page), to);
      close(figures, wanted('sample.rf', -to));
      await page.locator('#fence-save').scrollIntoViewIfNeeded();
      await shot(page, 'fence');
      // save: the file is the model with that fence, and the page evaluates it
      await page.click('#fence-save');
      await said(page, 'Saved');
      assert.equal(await at(page), 0);
      close(await shown(page), figures);
      close(figures, wanted('fence.rf', 0));
      assert.equal(JSON.parse(ringfence(['inspect', file('fence.rf'), '--json'])).summary.fence.offset, Math.fround(-to));
      assert.equal(await page.locator('#eval-note').innerText(), '');
      // and back
      await until('undo', () => page.locator('#fence-undo').isVisible());
      await page.click('#fence-undo');
      await said(page, 'The model before');
      close(await shown(page), wanted('sample.rf', 0));
      assert.deepEqual(fs.readFileSync(file('fence.rf')), fs.readFileSync(file('sample.rf')));
      await until('no more undo', async () => !await page.locator('#fence-undo').isVisible());
    });
    await kill(server);
  });

  await test('fence: another page was faster, and one that may not', async () => {
    const server = await start('rival');
    await visit(server, wide, async page => {
      await evaluated(page);
      await page.focus('#fence');
      await page.keyboard.press('PageDown');
      await until('it moved', async () => await at(page) < 0);
      // somebody else saves; this page has not noticed yet
      await page.route('**/metrics', route => route.abort());
      const own = { method: 'POST', headers: { Origin: server.url, 'Content-Type': 'application/json' }, body: '{"offset": 0.5}' };
      assert.equal((await fetch(server.url + '/v1/fence', own)).status, 202);
      await until('the other model', async () => (await (await fetch(server.url + '/v1/update')).json()).state === 'done');
      const file2 = fs.readFileSync(file('rival.rf'));
      if (await page.locator('#fence-save').isEnabled()) {
        await page.click('#fence-save');
        await said(page, 'Nothing has changed: found generation 2 of the model, wanted 1');
      }
      assert.deepEqual(fs.readFileSync(file('rival.rf')), file2);
      await page.unroute('**/metrics');
    }, /ERR_FAILED|409/);
    await visit(server, wide, async page => {
      await evaluated(page);
      await page.route('**/v1/fence', route => route.fulfill({ status: 403, contentType: 'application/json', body: '{"error":{"code":"forbidden","message":"found no token","pointer":""}}' }));
      await page.focus('#fence');
      await page.keyboard.press('ArrowLeft');
      await until('it moved', async () => await at(page) < 0);
      await page.click('#fence-save');
      await said(page, 'Found no token');
    }, /403/);
    await kill(server);
  });

  await test('fence: by touch, readable in the dark and on a phone', async () => {
    const server = await start('touched');
    for (const options of [dark, phone])
      await visit(server, options, async page => {
        await evaluated(page);
        await page.focus('#fence');
        await page.keyboard.press('PageUp');
        await until('it moved', async () => await at(page) > 0);
        assert.deepEqual((await page.evaluate(lowContrast)).bad, []);
        assert.deepEqual(await page.evaluate(sticksOut), []);
        if (options !== phone) return;
        await page.locator('.fencing').scrollIntoViewIfNeeded();
        const box = await page.locator('.fencing').boundingBox();
        await page.touchscreen.tap(box.x + 10, box.y + 60);
        await until('where it was tapped', async () => await at(page) < 0);
        await shot(page, 'fence-phone');
      });
    await kill(server);
  });
}

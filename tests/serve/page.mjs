// page.mjs BROWSER DIR - the page of `ringfence serve` in a browser, used as people use it and
// compared with `ringfence predict` and `eval`. Prints TAP.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { browser, dark, dir, done, lowContrast, phone, squeeze, sticksOut, test } from '../pages/browser.mjs';
import { ask, file, kill, openTab, paste, percent, predict, read, ready, ringfence, saved, serve, shot, shownRows, tsv, type, until, visit, wide } from './page_lib.mjs';

const lines = read('lines.txt').trimEnd().split('\n'), few = lines.slice(0, 12);
const main = await serve('sample.rf');
const about = await (await fetch(main.url + '/v1/model')).json();

/* ---- Tests ---- */

await test('typed texts are answered as predict answers them', () => visit(main, wide, async page => {
  await ready(page);
  await type(page, few);
  const want = predict('sample.rf', few, '--explain', '3'), got = await shownRows(page);
  assert.deepEqual(got, want.map((a, i) => ({ kind: a.open ? 'open' : 'known', label: a.open ? `nearest: ${a.nearest_rejecting.label}` : a.label, confidence: 'confidence ' + percent(a.confidence), text: few[i] })));
  assert.ok(want.some(a => a.open) && want.some(a => !a.open));
  const json = JSON.parse(await saved(page, '#try-json'));
  assert.deepEqual(json.map(({ margins, map, ...rest }) => rest), want.map((a, i) => ({ text: few[i], ...a })));
  const table = tsv(await saved(page, '#try-tsv'));
  assert.deepEqual(table[0], ['text', 'label', 'confidence', 'margin']);
  assert.deepEqual(table.slice(1), want.map((a, i) => [few[i], a.label, String(a.confidence), String(a.margin)]));
  const open = want.filter(a => a.open).length;
  assert.equal(await page.locator('#summary').innerText(), `12 texts: ${12 - open} known, ${open} open (${percent(open / 12)}).`);
  await page.selectOption('#filter', 'open');
  assert.equal(await page.locator('.row').count(), open);
  await page.selectOption('#filter', 'known');
  assert.equal(await page.locator('.row').count(), 12 - open);
}));

await test('the last thing typed wins, and only new lines are sent', () => visit(main, wide, async page => {
  const asked = [];
  await ready(page);
  await type(page, ['where is my parcel', 'the chain fell off']);
  page.on('request', r => { if (r.url().endsWith('/v1/classify')) asked.push(JSON.parse(r.postData()).texts); });
  await page.locator('#texts').press('Control+End');
  await page.keyboard.type(' again and again', { delay: 15 });
  await until('the end of the words', async () => (await shownRows(page))[1]?.text === 'the chain fell off again and again');
  assert.ok(asked.length > 0 && asked.every(texts => texts.length === 1), JSON.stringify(asked));
  assert.equal(await page.locator('.row.sel .said').innerText(), 'the chain fell off again and again');
}));

await test('an expanded row shows margins, the reason and the nearest texts', () => visit(main, wide, async page => {
  await ready(page);
  const want = predict('sample.rf', few, '--explain', '3'), at = want.findIndex(a => a.open);
  await type(page, few);
  const row = page.locator('.row').nth(at);
  await row.locator('.head').click();
  assert.equal(await row.locator('.head').getAttribute('aria-expanded'), 'true');
  assert.equal(await row.getAttribute('aria-current'), 'true');
  assert.ok(squeeze(await row.locator('.detail').innerText()).includes(squeeze(want[at].reason)));
  assert.deepEqual(await row.locator('.near .t').allTextContents(), want[at].neighbours.map(n => n.text));
  const asked = await ask(main, { text: few[at], margins: 6 });
  const bars = await row.locator('.margins tbody tr').evaluateAll(all => all.map(tr => {
    const bar = tr.querySelector('rect').getBoundingClientRect(), track = tr.querySelector('svg').getBoundingClientRect(), zero = track.left + track.width / 2;
    return { label: tr.querySelector('th').textContent, words: tr.querySelector('.v').textContent, value: (Math.abs(bar.right - zero) < 1 ? bar.left - zero : bar.right - zero) / (track.width / 2) };
  }));
  const reach = Math.max(...asked.margins.map(m => Math.abs(m.margin)));
  assert.deepEqual(bars.map(b => b.label), asked.margins.map(m => m.label));
  asked.margins.forEach((m, i) => {
    assert.ok(Math.abs(bars[i].value - m.margin / reach) < 0.02, `bar ${bars[i].value} for ${m.margin} of ${reach}`);
    assert.ok(bars[i].words.endsWith(m.margin >= 0 ? 'accepted' : 'rejected'));
  });
  await shot(page, 'light');
}));

await test('an expanded row lists words that the encoder does not know', () => visit(main, wide, async page => {
  await ready(page);
  const texts = ['where is \u6f22 my \u6f22 parcel', 'where is my parcel'], want = predict('sample.rf', texts, '--explain', '3');
  assert.deepEqual(want.map(a => a.unknown_words), [['\u6f22'], []]);
  await type(page, texts);
  for (const i of [0, 1]) {
    const row = page.locator('.row').nth(i);
    if (await row.locator('.head').getAttribute('aria-expanded') !== 'true') await row.locator('.head').click();
    await row.locator('.near').waitFor();
    assert.deepEqual(await row.locator('.unknown .t').allTextContents(), i ? [] : ['\u6f22']);
  }
}));

await test('the map, with marks where the server says', () => visit(main, wide, async page => {
  await ready(page);
  if (!about.server.map) {
    assert.match(await page.locator('#no-map').innerText(), /no map/);
    return;
  }
  await type(page, few);
  const { answers } = await ask(main, { texts: few, map: true });
  const { points, labels, ring } = await (await fetch(main.url + '/v1/map')).json();
  const canvas = page.locator('#canvas');
  await canvas.scrollIntoViewIfNeeded();
  const box = await canvas.boundingBox(), r = (box.width / 2 - 11) / Math.max(1, ring[1]); // a frame of 1 and a pad of 10
  const put = ([x, y]) => [box.x + box.width / 2 + r * x, box.y + box.height / 2 - r * y];
  const far = (a, b) => Math.hypot(a[0] - b[0], a[1] - b[1]);
  // known answers are among the points, open ones on the ring
  const radius = ([x, y]) => Math.hypot(x, y), most = Math.max(...points.map(radius));
  for (const a of answers) assert.ok(a.open ? radius(a.map) > ring[0] - 1e-3 && radius(a.map) < ring[1] + 1e-3 : radius(a.map) <= most + 1e-3, JSON.stringify(a.map));
  assert.ok(ring[0] > most && answers.some(a => a.open));
  for (const [i, a] of answers.entries()) {
    const here = put(a.map), others = answers.filter((b, k) => k !== i && far(put(b.map), here) < 3);
    if (others.length) continue; // one of several at the same place: the tip may show any of them
    await page.mouse.move(...here);
    assert.ok(squeeze(await page.locator('#tip').innerText()).startsWith(squeeze(few[i])), few[i]);
  }
  const alone = points.find(p => answers.every(a => far(put(a.map), put(p)) > 20) && points.every(q => q[2] === p[2] || far(put(q), put(p)) > 2));
  if (alone) {
    await page.mouse.move(...put(alone));
    assert.equal(await page.locator('#tip').innerText(), labels[alone[2]]);
  }
  // a click on a mark expands its row, and its position is described in words
  await page.mouse.click(...put(answers[3].map));
  const chosen = await page.locator('.row.sel .said').textContent(), at = few.indexOf(chosen);
  assert.ok(far(put(answers[at].map), put(answers[3].map)) < 18);
  assert.match(await page.locator('#place').innerText(), new RegExp(`^Line ${at + 1} lies ` + (answers[at].open ? `on the ring of open texts, most like .` : '(among|between) .')));
  assert.match(await page.locator('.row.sel .detail').innerText(), answers[at].open ? /On the map: on the ring of open texts, most like ./ : /On the map: (among|between) ./);
  assert.match(await canvas.getAttribute('aria-label'), /^Map of \d+ training texts of 12 classes/);
  // highlighting a class, without a mouse, changes the picture
  const picture = () => canvas.evaluate(c => c.toDataURL()), before = await picture();
  await page.selectOption('#map-class', '2');
  await until('another picture', async () => await picture() !== before);
  await shot(page, 'map');
}));

// The most rows of answers that the page adds in one task while f runs. Counted, not timed: how long a task
// takes depends on the machine.
async function mostRowsAtOnce(page, f) {
  await page.evaluate(() => {
    window.rowsAtOnce = [];
    const isRow = node => node.classList?.contains('row');
    window.rowWatch = new MutationObserver(records =>
      window.rowsAtOnce.push(records.flatMap(r => [...r.addedNodes]).filter(isRow).length));
    window.rowWatch.observe(document.body, { childList: true, subtree: true });
  });
  await f();
  const counts = await page.evaluate(() => { window.rowWatch.disconnect(); return window.rowsAtOnce; });
  return Math.max(...counts);
}

await test('a thousand lines do not block the page', () => visit(main, wide, async page => {
  await ready(page);
  const sizes = []; // texts per request
  page.on('request', r => { if (r.url().endsWith('/v1/classify')) sizes.push(JSON.parse(r.postData()).texts?.length ?? 1); });
  const most = await mostRowsAtOnce(page, async () => {
    await paste(page, '#texts', lines.join('\n'));
    assert.equal(await page.locator('#go').innerText(), 'Classify 1,000 texts');
    await page.locator('#texts').press('Control+Enter');
    await until('all answers', async () => (await page.locator('#summary').innerText()).startsWith('1,000 texts:'));
    const table = tsv(await saved(page, '#try-tsv')).slice(1), want = predict('sample.rf', lines);
    assert.deepEqual(table.map(r => r.slice(0, 2)), want.map((a, i) => [lines[i], a.label]));
    assert.equal(await page.locator('.row').count(), 50);
    await page.press('#more', 'Enter');
    await until('more rows', async () => await page.locator('.row').count() === 250);
    await page.locator('.row').nth(240).locator('.head').click();
    await page.locator('.row').nth(240).locator('.near li').first().waitFor();
  });
  assert.ok(most > 0 && most <= 200, `${most} rows added in one task`);
  assert.ok(sizes.length >= 10 && Math.max(...sizes) <= 100, `requests of ${sizes} texts`);
  await page.evaluate(() => scrollTo(0, 0));
  await shot(page, 'many');
}));

await test('many lines can be cancelled, and a busy server is waited for', () => visit(main, wide, async page => {
  let busy = 0, cancel;
  const cancelled = new Promise(r => { cancel = r; });
  await page.route('**/v1/classify', async route => {
    const number = busy++;
    if (number < 2) return route.fulfill({ status: 429, headers: { 'Retry-After': '1' }, contentType: 'application/json', body: '{"error":{"code":"queue_full","message":"full","pointer":""}}' });
    if (number > 4) await cancelled; // some answers, but not all
    return route.continue().catch(() => {}); // it may have been aborted
  });
  await ready(page);
  await paste(page, '#texts', lines.join('\n'));
  const began = Date.now();
  await page.click('#go');
  await page.locator('.row').first().waitFor();
  assert.ok(Date.now() - began >= 1000, 'Retry-After was not waited for');
  await page.click('#stop');
  await until('a note', async () => /^Cancelled after \d+ texts/.test(await page.locator('#try-note').innerText()));
  const [, n] = (await page.locator('#summary').innerText()).match(/^(\d+) texts:/);
  assert.ok(+n > 0 && +n < 1000, n);
  assert.equal(await page.locator('#stop').isVisible(), false);
  cancel();
}, /429/));

await test('the figures of an evaluation are those of ringfence eval', () => visit(main, wide, async page => {
  await ready(page);
  await openTab(page, 'evaluate');
  await page.setInputFiles('#file', file('test.tsv'));
  await page.locator('#report .tiles:not(#fence-figures)').waitFor();
  const want = JSON.parse(ringfence(['eval', file('sample.rf'), file('test.tsv'), '--json']));
  const { rows, ...got } = JSON.parse(await saved(page, '#report >> text=Download JSON'));
  const { reliability, budget, ...figures } = want;
  assert.deepEqual(got, figures); // to the last digit
  assert.equal(rows.length, want.n);
  const tiles = await page.locator('#report .tiles:not(#fence-figures) .v').allInnerTexts();
  assert.deepEqual(tiles.map(squeeze), [want.accuracy, want.f1, want.f1_known, want.f1_open, want.f1_tested].map(x => x.toFixed(1) + ' %')
    .concat(want.mcc.toFixed(3), [want.auroc, want.calibration_error].map(x => x.toFixed(1) + ' %')));
  const classes = await page.locator('[aria-label="Classes, evaluated"] tbody tr').evaluateAll(all => all.map(tr => [...tr.cells].map(c => c.textContent)));
  assert.equal(classes.length, 13);
  for (const [label, ...numbers] of classes) {
    const c = Object.entries(want.per_class).find(([k]) => k === label)[1];
    assert.deepEqual(numbers, [c.precision.toFixed(2), c.recall.toFixed(2), c.f1.toFixed(2), String(c.support)]);
  }
  assert.deepEqual(classes.map(c => +c[3]), classes.map(c => +c[3]).sort((a, b) => a - b)); // worst first
  await page.locator('[aria-label="Classes, evaluated"] th button', { hasText: 'support' }).click();
  assert.equal(await page.locator('[aria-label="Classes, evaluated"] tbody th').first().innerText(), 'open');
  const table = tsv(await saved(page, '#report >> text=Download TSV')), data = tsv(read('test.tsv')).slice(1);
  assert.deepEqual(table.slice(1).map(r => [r[1], r[0]]), data.map(r => [r[0], r[1]]));
  assert.equal(table.slice(1).filter(r => r[3] === 'yes').length, Math.round(want.accuracy * want.n / 100));
  const first = await page.locator('[aria-label="Worst confusions"] tbody tr').first().evaluate(tr => [...tr.cells].map(c => c.textContent));
  assert.deepEqual(first, [want.confusions[0].label, want.confusions[0].answer, String(want.confusions[0].count)]);
  // the same, pasted
  await page.fill('#data', read('test.tsv'));
  await page.locator('#report').evaluate(r => r.replaceChildren());
  await page.click('#measure');
  await page.locator('#report .tiles:not(#fence-figures)').waitFor();
  assert.deepEqual(await page.locator('#report .tiles:not(#fence-figures) .v').allInnerTexts(), tiles);
  await shot(page, 'evaluation');
  // and dropped
  await page.locator('#report').evaluate(r => r.replaceChildren());
  const dropped = await page.evaluateHandle(text => { const d = new DataTransfer(); d.items.add(new File([text], 'test.tsv')); return d; }, read('test.tsv'));
  await page.dispatchEvent('#zone', 'drop', { dataTransfer: dropped });
  await page.locator('#report .tiles:not(#fence-figures)').waitFor();
  assert.deepEqual(await page.locator('#report .tiles:not(#fence-figures) .v').allInnerTexts(), tiles);
}));

const faults = {
  'one\n': /^Line 1: found 1 column, wanted at least 2/,
  'a\tb\n\nc\td\te\n': /^Line 3: found 3 columns, wanted 2 as in line 1/,
  'a\t"b\nc" d\te\n': /^Line 2: found " d\te" after the quote that closes the field begun in line 1, wanted a tab/,
  'a\tb\nc\t"d\n': /^Line 2: the quote that opens here is not closed/,
  'a\tb\nc\t  \n': /^Line 2: found a label of 0 bytes, wanted 1 to 1,024/,
  'x\ty\tz\n1\t2\t3\n': /^Line 1: found 3 columns, "x", "y", "z"; wanted 2, or a header/,
  'text\tlabel\tTEXT \n1\t2\t3\n': null, // one of two is called exactly so
  'Intent,other,Query\r\nrefund,1,"where, ""please"""\r\n': null,
  'Text\tlabel\tTEXT\n1\t2\t3\n': /^Line 1: found 2 columns called "text", wanted one/,
  'text\tlabel\n': /^Found no row, wanted at least one/,
  '{"text": "a"}\n': /^Line 1: found JSON, wanted TSV or CSV/,
};
await test('errors in labelled texts name the line', () => visit(main, wide, async page => {
  await ready(page);
  await openTab(page, 'evaluate');
  for (const [data, want] of Object.entries(faults)) {
    await page.fill('#data', data);
    await page.click('#measure');
    if (want) {
      await page.locator('#eval-error').waitFor();
      assert.match(await page.locator('#eval-error').textContent(), want, JSON.stringify(data));
    } else await page.locator('#report .tiles:not(#fence-figures)').waitFor();
    assert.equal(await page.locator('#eval-error').isVisible(), want !== null);
    assert.equal(await page.locator('#report').isVisible(), want === null, 'the figures of other data');
  }
}));

await test('the model card shows the metadata of the model', () => visit(main, wide, async page => {
  await ready(page);
  await openTab(page, 'model');
  assert.equal(await page.locator('h1').innerText(), 'sample.rf');
  const card = squeeze(await page.locator('#card').innerText()), m = about.model;
  for (const words of [about.server.file, m.method, `${m.summary.rows} texts of 12 classes`, 'ringfence train --max-false-accept 5%', `generation ${about.server.generation}`, `of known texts ${(100 * m.summary.expected.known_right.rate).toFixed(1)}`])
    assert.ok(card.includes(words), words);
  const cells = () => page.locator('#card tbody tr').evaluateAll(all => all.map(tr => [...tr.cells].map(c => c.textContent)));
  assert.deepEqual((await cells()).map(c => c[0]).sort(), [...m.labels].sort());
  await page.locator('#card th button', { hasText: 'distance' }).click();
  const order = (await cells()).map(c => +c[3]);
  assert.deepEqual(order, [...order].sort((a, b) => b - a));
  assert.equal(await page.locator('#card [aria-sort]').getAttribute('aria-sort'), 'descending');
  await page.fill('#card input[type=search]', 'BIKE');
  assert.deepEqual((await cells()).map(c => c[0]), ['stolen bike']);
}));

await test('hostile names and texts stay text', () => visit(main, wide, async page => {
  await ready(page);
  const nasty = ['<script>window.hit=1</script>', '<img src=x onerror=window.hit=1>', '"><svg onload=window.hit=1>', '\u202eesrever \u0000 \u0007', '${window.hit=1}', 'half a pair \ud83d'];
  await type(page, nasty);
  for (let i = 0; i < nasty.length; i++) await page.locator('.head').nth(i).click();
  assert.deepEqual((await shownRows(page)).map(r => r.text), nasty.map(t => t.replace('\ud83d', '\ufffd')));
  const names = await page.locator('#card tbody th').allTextContents();
  for (const n of ['<script>window.hit=1</script>', '"><img src=x onerror=window.hit=1>', '__proto__']) assert.ok(names.includes(n), n);
  assert.equal(await page.locator('.page script, .page img, [onerror], [onload], [style*=expression]').count(), 0);
}));

await test('the page waits for a server that goes away, and uses one that comes back', async () => {
  const first = await serve('sample.rf');
  let second;
  await visit(first, wide, async page => {
    await ready(page);
    await type(page, ['where is my parcel']);
    await kill(first);
    await page.waitForSelector('#state[data-state=away]');
    assert.equal(await page.locator('#state').innerText(), 'server unreachable, retrying');
    const failed = page.waitForEvent('requestfailed', r => r.url().endsWith('/v1/classify'));
    await page.fill('#texts', 'where is my parcel\nthe chain fell off');
    await failed;
    assert.equal(await page.locator('.row').count(), 1); // what was there stays
    await shot(page, 'away');
    // Somebody else may have the port for a moment.
    for (let tries = 60; !second; tries--) second = await serve('other.rf', first.listen).catch(async e => { if (!tries) throw e; await new Promise(r => setTimeout(r, 500)); });
    await ready(page);
    await until('the answer of the other model', async () => (await shownRows(page)).length === 2 && await page.locator('h1').innerText() === 'other.rf');
    const want = predict('other.rf', ['where is my parcel', 'the chain fell off']);
    await until('its confidence', async () => (await shownRows(page)).every((r, i) => r.confidence === 'confidence ' + percent(want[i].confidence)));
    assert.equal(await page.locator('#texts').inputValue(), 'where is my parcel\nthe chain fell off');
    assert.match(await page.locator('#no-map').innerText(), /This model has no map/);
    assert.equal(await page.locator('#sample').isVisible(), false);
  }, /ERR_CONNECTION_REFUSED|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET/);
  await kill(second);
});

await test('the message of a server that refuses is shown', async () => {
  const address = new URL(main.url);
  const other = await browser.browserType().launch({ executablePath: process.argv[2], args: ['--no-sandbox', '--host-resolver-rules=MAP models.example 127.0.0.1'] });
  try {
    const page = await other.newPage();
    await page.goto(`http://models.example:${address.port}/`);
    await page.waitForSelector('#state[data-state=away]');
    await until('why', async () => /^request refused, retrying: found Host: models\.example:\d+, wanted a name of this machine/.test(await page.locator('#state').innerText()));
  } finally {
    await other.close();
  }
});

await test('text typed while examples are loading stays', () => visit(main, wide, async page => {
  await ready(page);
  let go;
  const held = new Promise(r => { go = r; });
  await page.route('**/v1/classify*', async (route, r) => { if (/"explain":1\b/.test(r.postData())) await held; await route.continue(); });
  await page.evaluate(() => { // notes when the page has read the answer
    const original = Response.prototype.json;
    Response.prototype.json = async function () { const got = await original.call(this); if (got.answers?.[0]?.neighbours?.length === 1) window.examples = got; return got; };
  });
  await page.click('#sample');
  await page.fill('#texts', 'mine');
  go();
  await until('the examples', () => page.evaluate(() => window.examples !== undefined));
  await page.evaluate(() => new Promise(r => setTimeout(r, 50))); // after all timers that are due by now
  assert.equal(await page.inputValue('#texts'), 'mine');
}));

await test('a server with a token prompts for it, and accepts it', async () => {
  fs.writeFileSync(file('token'), 'a-secret-of-24-letters-x\n', { mode: 0o600 });
  fs.copyFileSync(file('sample.rf'), file('copy.rf'));
  const closed = await serve('copy.rf', '127.0.0.1:0', '--token-file', file('token'));
  await visit(closed, wide, async page => {
    await page.waitForSelector('#state[data-state=token]');
    await page.keyboard.type('wrong'); // the field has the focus
    await page.keyboard.press('Enter');
    await until('a refusal', async () => /refused/.test(await page.locator('#token-words').innerText()));
    await shot(page, 'token');
    await page.fill('#token', 'a-secret-of-24-letters-x');
    await page.keyboard.press('Enter');
    await ready(page);
    assert.equal(await page.locator('#token-box').isVisible(), false);
    await type(page, ['where is my parcel']);
    await page.reload();
    await ready(page); // kept in this tab
    assert.equal(await page.evaluate(() => JSON.stringify(localStorage).includes('secret')), false);
    // a reload is noticed, and the new model used on request
    const some = lines.slice(0, 25), labels = async () => tsv(await saved(page, '#try-tsv')).slice(1).map(r => [r[0], +r[2]]);
    const want = model => predict(model, some).map((a, i) => [some[i], a.confidence]);
    await page.fill('#texts', some.join('\n'));
    await page.click('#go');
    await until('all answers', async () => (await page.locator('#summary').innerText()).startsWith('25 texts:'));
    assert.deepEqual(await labels(), want('sample.rf'));
    fs.copyFileSync(file('other.rf'), file('new.rf'));
    fs.renameSync(file('new.rf'), file('copy.rf'));
    const answer = await fetch(closed.url + '/v1/reload', { method: 'POST', headers: { Authorization: 'Bearer a-secret-of-24-letters-x' } });
    assert.equal(answer.status, 200);
    await until('the new model', async () => (await page.locator('#card').textContent()).includes('generation 2') && /reloaded/.test(await page.locator('#try-note').innerText()));
    await page.click('#go');
    await until('all answers again', async () => await page.locator('#try-note').innerText() === '' && (await page.locator('#summary').innerText()).startsWith('25 texts:'));
    assert.deepEqual(await labels(), want('other.rf'));
  }, /401/);
  await kill(closed);
});

await test('everything works by keyboard', () => visit(main, wide, async page => {
  await ready(page);
  const seen = [], focus = () => page.evaluate(() => document.activeElement.id || document.activeElement.className || document.activeElement.tagName);
  const tabTo = async id => { for (let i = 0; i < 80; i++) { await page.keyboard.press('Tab'); seen.push(await focus()); if (seen.at(-1) === id) return; } assert.fail(`${id} is not reached: ${seen}`); };
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Skip to the content');
  await tabTo('texts');
  await page.keyboard.type('where is my parcel\nthe chain fell off\n9 8 7\nhello\nthank you');
  await until('five rows', async () => await page.locator('.row').count() === 5);
  await tabTo('head');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('End');
  assert.equal(await page.evaluate(() => document.activeElement.querySelector('.said').textContent), 'thank you');
  await page.keyboard.press('Home');
  await page.keyboard.press('Enter');
  assert.equal(await page.locator('.row').first().getAttribute('aria-current'), 'true');
  assert.ok(await page.locator('.row').first().locator('.margins').isVisible());
  if (about.server.map) await tabTo('map-class');
  await page.keyboard.press('Home'); // somewhere in the page; then around it to the tabs
  await tabTo('tab-try');
  await page.keyboard.press('ArrowRight');
  assert.equal(await focus(), 'tab-evaluate');
  await tabTo('data');
  await page.keyboard.insertText('where is my parcel\trefund\n9 8 7\toos\n');
  await page.keyboard.press('Control+Enter');
  await page.locator('#report .tiles:not(#fence-figures)').waitFor();
  await tabTo('scroll');
  const ring = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
  assert.equal(ring, 'solid');
}));

await test('live metrics', () => visit(main, wide, async page => {
  await ready(page);
  await openTab(page, 'live');
  await page.locator('#tiles li').first().waitFor();
  const tiles = async () => (await page.locator('#tiles li').allInnerTexts()).map(squeeze);
  const total = async () => Number((await tiles())[0].match(/([\d,]+) since the start/)[1].replaceAll(',', ''));
  const before = await total();
  await openTab(page, 'try');
  await type(page, few.map(t => t + ' live'));
  await openTab(page, 'live');
  await until('the texts counted', async () => await total() === before + 12);
  const [texts, open, requests, latency, waiting] = await tiles();
  assert.match(open, /^Open \d+\.\d % of the last minute's texts; \d+\.\d % since the start$/);
  assert.match(requests, /^Requests \d+\.\d per second/);
  assert.match(latency, /^Latency \d+(\.\d)? ms .* within \d+(\.\d)? ms$/);
  assert.match(waiting, /^Waiting 0 texts/);
  assert.match(texts, /^Texts \d+\.\d per second/);
  assert.equal(await page.locator('#tiles .spark').count(), 2);
}));

const tabNames = page => page.locator('#tabs a:visible').evaluateAll(all => all.map(a => a.hash.slice(1)));

await test('one tab is shown at a time, by mouse, keys, address and history', () => visit(main, wide, async page => {
  const shown = () => page.evaluate(() => ({ hash: location.hash, panels: [...document.querySelectorAll('[role=tabpanel]')].filter(p => p.getClientRects().length).map(p => p.id.slice(6)),
    chosen: [...document.querySelectorAll('[role=tab][aria-selected=true]')].map(a => a.id.slice(4)), reached: [...document.querySelectorAll('[role=tab]:not([tabindex])')].map(a => a.id.slice(4)), top: scrollY }));
  const is = async (name, hash = '#' + name) => assert.deepEqual(await shown(), { hash, panels: [name], chosen: [name], reached: [name], top: 0 });
  await ready(page);
  assert.deepEqual(await tabNames(page), ['try', 'evaluate', 'model', 'live']);
  await is('try', '');
  for (const name of ['live', 'evaluate', 'model']) { await openTab(page, name); await is(name); }
  await page.goBack();
  await is('evaluate');
  await page.goForward();
  await is('model');
  await page.reload();
  await ready(page);
  await is('model');
  await page.focus('#tab-model');
  for (const [key, name] of [['ArrowRight', 'live'], ['ArrowRight', 'try'], ['ArrowLeft', 'live'], ['Home', 'try'], ['End', 'live']]) { await page.keyboard.press(key); await is(name); }
  await page.goto(main.url + '/#nonsense');
  await is('try', '#nonsense');
}));

// Fills all sections, for the tests of the layout.
async function full(page) {
  await ready(page);
  await type(page, few);
  await page.locator('.head').nth(2).click();
  await openTab(page, 'evaluate');
  await page.setInputFiles('#file', file('test.tsv'));
  await page.locator('#report .tiles:not(#fence-figures)').waitFor();
  await page.locator('#tiles li').first().waitFor({ state: 'attached' });
  await page.evaluate(() => document.querySelectorAll('details').forEach(d => { d.open = true; }));
  await openTab(page, 'try');
}
async function everyTab(page, run) {
  for (const name of await tabNames(page)) { await openTab(page, name); await run(name); }
}

for (const [name, options] of Object.entries({ light: wide, dark: { ...wide, colorScheme: 'dark' } }))
  await test(`enough contrast, ${name}`, () => visit(main, options, async page => {
    await full(page);
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), name);
    let all = 0;
    await everyTab(page, async tab => {
      const { seen, bad } = await page.evaluate(lowContrast);
      all += seen;
      assert.deepEqual([tab, ...bad], [tab]);
      await shot(page, `${tab}-${name}`, { fullPage: true });
    });
    assert.ok(all > 150, all);
  }));

await test('the theme is applied and remembered', () => visit(main, dark, async page => {
  const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  assert.equal(await paper(), 'rgb(21, 24, 27)');
  await page.selectOption('#theme', 'light');
  assert.equal(await paper(), 'rgb(255, 255, 255)');
  await page.reload();
  assert.equal(await paper(), 'rgb(255, 255, 255)');
  await page.selectOption('#theme', 'system');
  await page.reload();
  assert.equal(await paper(), 'rgb(21, 24, 27)');
  await page.emulateMedia({ colorScheme: 'light' });
  await until('daylight', async () => await paper() === 'rgb(255, 255, 255)');
}));

await test('nothing overflows a narrow screen', () => visit(main, phone, async page => {
  await full(page);
  for (const width of [360, 320, 768]) {
    await page.setViewportSize({ width, height: 740 });
    await everyTab(page, async tab => {
      assert.deepEqual([width, tab, ...await page.evaluate(sticksOut)], [width, tab]);
      if (width === 360) await shot(page, 'phone-' + tab, { fullPage: true });
      // A table that does not fit says so, and one that does says nothing; the browser tells the page of a new width a little later.
      let hints;
      await until(`hints at ${width}, ${tab}`, async () => {
        hints = await page.locator('.scroll:visible').evaluateAll(all => all.map(t => [t.scrollWidth > t.clientWidth + 1, !t.previousSibling.hidden]));
        return hints.every(([wide, said]) => said === wide);
      });
      if (width === 320 && tab === 'evaluate') assert.ok(hints.some(x => x[0]));
    });
  }
}));

await test('the printed page', () => visit(main, { ...wide, colorScheme: 'dark' }, async page => {
  await full(page);
  await page.emulateMedia({ media: 'print' });
  assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), 'rgb(255, 255, 255)');
  assert.deepEqual((await page.evaluate(lowContrast)).bad, []);
  assert.equal(await page.locator('#go').isVisible(), false);
  assert.equal(await page.locator('#tabs').isVisible(), false);
  assert.ok(await page.locator('.row').first().isVisible());
}));

await test('the policy allows the page and nothing else', () => visit(main, wide, async page => {
  await ready(page);
  const policy = (await fetch(main.url + '/')).headers.get('content-security-policy');
  assert.match(policy, /default-src 'none'/);
  assert.doesNotMatch(policy, /unsafe/);
  assert.equal(await page.evaluate(() => fetch('https://example.invalid/').then(() => 'went out', () => 'refused')), 'refused');
  await page.evaluate(() => { const e = document.createElement('script'); e.textContent = 'window.hit=1'; document.body.append(e); });
}, /Content Security Policy|policy: (connect|script)-src|ERR_|violates/));

await test('the page says whether texts are kept', async () => {
  await visit(main, wide, async page => {
    await ready(page);
    assert.doesNotMatch(await page.locator('#foot').innerText(), /keeps/);
  });
  for (const [options, words] of [[[], 'The server keeps texts that it classifies, but not those classified while you type, or evaluated here.'], [['--store-hash'], 'The server keeps hashes of texts that it classifies, but']]) {
    const server = await serve('sample.rf', undefined, '--store', path.join(dir, 'kept.db'), ...options);
    await visit(server, wide, async page => {
      await ready(page);
      await until(words, async () => (await page.locator('#foot').innerText()).includes(words));
    });
    await kill(server);
  }
});

await (await import('./page_review.mjs')).run();
await (await import('./page_fence.mjs')).run();

await test('the server stops with exit code 0', async () => {
  const ended = new Promise(r => main.child.on('exit', (code, signal) => r(signal ?? code)));
  main.child.kill('SIGTERM');
  assert.equal(await Promise.race([ended, new Promise(r => setTimeout(r, 60000, 'not at all').unref())]), 0);
});

await done();

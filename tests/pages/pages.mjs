// pages.mjs BROWSER DIR - what a browser makes of the pages in DIR; prints TAP
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { browser, dark, desktop, dir, done, look, lowContrast, phone, squeeze, sticksOut, test } from './browser.mjs';

// Runs in the page: where point i of the first map is on the screen, and what it says.
const pointAt = i => {
  const fig = document.querySelector('.map'), svg = fig.querySelector('.plot svg');
  const all = [...fig.querySelectorAll('.pts')].flatMap(p => [...p.getAttribute('d').matchAll(/(-?[\d.]+) (-?[\d.]+)/g)]);
  svg.scrollIntoView({ block: 'center' });
  const m = svg.getScreenCTM(), [x, y] = [+all[i][1], +all[i][2]];
  // the nearest of those at the same place is the first of them
  const first = all.findIndex(p => +p[1] === x && +p[2] === y);
  const data = JSON.parse(fig.querySelector('script').textContent), d = data.points[first];
  return { n: all.length, told: data.points.length, x: x * m.a + m.e, y: y * m.d + m.f, text: d[0], truth: data.names[d[1]], answer: data.names[d[2]] };
};
const tipText = page => page.locator('.tip').evaluate(t => getComputedStyle(t).visibility === 'visible' ? t.innerText : null);

const openAll = page => page.evaluate(() => document.querySelectorAll('details').forEach(d => { d.open = true; }));
const shot = (page, name) => page.screenshot({ path: path.join(dir, name + '.png'), fullPage: true });

const rows = name => fs.readFileSync(path.join(dir, name + '.jsonl'), 'utf8').trim().split('\n').map(l => JSON.parse(l));

await test('the report shows every part', () => look('test', desktop, async page => {
  const got = await page.evaluate(() => ({
    tiles: document.querySelectorAll('.tiles > li').length,
    figures: [...document.querySelectorAll('svg[role=img]')].map(s => [s.querySelector('title').textContent, s.querySelector('desc').textContent, s.getBoundingClientRect().height > 100]),
    headings: [...document.querySelectorAll('h2')].map(h => h.textContent),
    classes: document.querySelectorAll('[aria-label=Classes] tbody tr').length,
    heat: document.querySelectorAll('.heat tbody td').length,
    series: document.querySelectorAll('.legend button').length,
  }));
  assert.equal(got.tiles, 9);
  assert.equal(got.figures.length, 4);
  for (const [title, description, drawn] of got.figures) assert.ok(title && description && drawn, title);
  assert.deepEqual(got.headings, ['Figures', 'How clear the decisions are', 'How reliable the confidence is', 'Map of the texts', 'Classes', 'Worst confusions', 'Texts worth a look', 'The model']);
  assert.equal(got.classes, 13);
  assert.equal(got.heat, 13 * 13);
  assert.equal(got.series, 10);
  const p = await page.evaluate(pointAt, 0);
  assert.equal(p.n, rows('test').length);
  assert.equal(p.told, p.n);
  await openAll(page);
  await shot(page, 'light');
}));

await test('confidence: bars as high as the share of right answers, a diagonal, a table', () => look('test', desktop, async page => {
  const got = await page.evaluate(() => {
    const svg = document.querySelector('svg.reliability'), box = e => e.getBoundingClientRect();
    const line = box(svg.querySelector('.mark'));
    return {
      line: [line.width, line.height],
      bars: [...svg.querySelectorAll('rect')].map(r => ({ height: box(r).height / line.height, bin: Math.floor((box(r).left + box(r).width / 2 - line.left) / line.width * 10) })),
      counts: [...svg.querySelectorAll('.val')].map(t => t.textContent),
      rows: [...document.querySelectorAll('[aria-label="Confidence and right answers"] tbody tr')].map(r => [...r.cells].map(c => c.textContent)),
      words: document.querySelector('svg.reliability').closest('section').innerText,
    };
  });
  assert.ok(got.line[0] > 300 && got.line[1] > 150);
  assert.equal(got.rows.length, 10);
  const full = got.rows.map((r, bin) => ({ bin, count: r[1], right: +r[3] / 100 })).filter(r => r.count !== '0');
  assert.ok(full.length >= 2);
  assert.equal(full.reduce((n, r) => n + +r.count.replace(',', ''), 0), rows('test').length);
  assert.deepEqual(got.bars.map(b => b.bin), full.map(r => r.bin));
  assert.deepEqual(got.counts, full.map(r => r.count));
  got.bars.forEach((b, i) => assert.ok(Math.abs(b.height - full[i].right) < 0.01, `${b.height} for ${full[i].right}`));
  assert.match(got.words, /expected calibration error is \d+\.\d/);
}));

await test('hostile names and texts stay text', () => look('test', desktop, async page => {
  assert.equal(await page.evaluate(() => window.hit), undefined);
  assert.equal(await page.locator('main img, main b img, main script:not([type])').count(), 0);
  const names = await page.locator('[aria-label=Classes] tbody th').allInnerTexts();
  assert.ok(names.includes('<script>window.hit=1</script>'));
  assert.ok(names.includes('"><img src=x onerror=window.hit=1>'));
  const all = await page.evaluate(() => JSON.parse(document.querySelector('.map script').textContent).points.map(p => p[0]));
  assert.ok(all.some(t => t.startsWith('</script><script>window.hit=1</script>')));
  assert.ok(all.some(t => t.includes('esrever \ufffd \ufffd')));
}));

await test('pointing at a text shows it', () => look('test', desktop, async page => {
  for (const i of [0, 17, 60, 120, rows('test').length - 1]) {
    const p = await page.evaluate(pointAt, i);
    await page.mouse.move(p.x, p.y);
    const tip = squeeze(await tipText(page));
    assert.ok(tip.startsWith(squeeze(p.text)), `${tip} does not start with ${p.text}`);
    assert.ok(tip.includes('label: ' + p.truth) && tip.includes('answer: ' + p.answer) && /confidence \d+ %$/.test(tip), tip);
    const box = await page.locator('.tip').boundingBox();
    assert.ok(box.x >= 0 && box.x + box.width <= 1000);
    if (i === 60) await page.screenshot({ path: path.join(dir, 'tip.png') });
  }
  assert.equal(await page.evaluate(() => window.hit), undefined);
  await page.mouse.move(5, 5);
  assert.equal(await tipText(page), null);
}));

await test('so do the arrow keys', () => look('test', desktop, async page => {
  await page.keyboard.press('Tab');
  for (let i = 0; i < 40 && !await page.evaluate(() => document.activeElement.classList.contains('plot')); i++) await page.keyboard.press('Tab');
  const first = await tipText(page);
  assert.ok(first, 'nothing is shown when the map has the focus');
  const seen = new Set([first]);
  for (const key of ['ArrowRight', 'ArrowDown', 'ArrowLeft', 'ArrowUp', 'ArrowRight', 'ArrowRight', 'ArrowDown']) {
    await page.keyboard.press(key);
    seen.add(await tipText(page) + await page.locator('.here').getAttribute('cx'));
  }
  assert.ok(seen.size > 4, `only ${seen.size} points`);
  await page.keyboard.press('Home');
  assert.equal(await tipText(page), first);
  await page.keyboard.press('Escape');
  assert.equal(await tipText(page), null);
}));

await test('so does tapping it, on a phone', () => look('test', phone, async page => {
  const p = await page.evaluate(pointAt, 33);
  await page.touchscreen.tap(p.x, p.y);
  assert.ok(squeeze(await tipText(page)).startsWith(squeeze(p.text)));
  const box = await page.locator('.tip').boundingBox();
  assert.ok(box.x >= 0 && box.x + box.width <= 360);
  assert.deepEqual(await page.evaluate(sticksOut), []);
}));

await test('the legend highlights one class', () => look('test', desktop, async page => {
  const bright = () => page.locator('.pts').evaluateAll(p => p.filter(e => +getComputedStyle(e).opacity > 0.5).length);
  const all = await bright(), button = page.locator('.legend button').nth(2);
  await button.click();
  assert.equal(await bright(), 1);
  assert.equal(await button.getAttribute('aria-pressed'), 'true');
  await button.click();
  assert.equal(await bright(), all);
}));

await test('a comparison: its figures, classes and changed texts, nothing hostile', () => look('compare', desktop, async page => {
  const want = JSON.parse(fs.readFileSync(path.join(dir, 'compare.json'), 'utf8'));
  const cells = label => page.locator(`[aria-label="${label}"] tbody tr`).evaluateAll(all => all.map(tr => [...tr.cells].map(c => c.textContent)));
  const sign = v => (v > 0 ? '+' : '') + v.toFixed(1).replace(/^-(0\.0)$/, '$1');
  const figures = await cells('What changed');
  ['accuracy', 'f1', 'known_called_open', 'open_let_in'].forEach((key, i) => {
    const d = want[key];
    assert.deepEqual(figures[i].slice(1, 3), [d.a.toFixed(1), d.b.toFixed(1)]);
    assert.equal(figures[i][4], `${sign(d.interval[0])} to ${sign(d.interval[1])}`);
    assert.equal(figures[i][5], d.beyond_chance ? 'beyond chance' : 'may be chance');
  });
  assert.match(await page.locator('.verdict').innerText(), want.beyond_chance ? /^The models differ beyond chance/ : /^No difference beyond chance/);
  const classes = await cells('Classes');
  assert.equal(classes.length, 13);
  assert.deepEqual(classes.map(c => squeeze(c[0])).sort(), want.classes.map(c => squeeze(c.label)).sort());
  assert.equal(classes.find(c => c[0] === 'sizes').at(-1), 'only A knows it');
  assert.equal((await cells('Right with A, wrong with B')).length, Math.min(200, want.n_lost));
  assert.ok(want.n_lost > 0);
  assert.equal(await page.evaluate(() => window.hit), undefined);
  assert.equal(await page.locator('main img, main script').count(), 0);
  await shot(page, 'compare');
}));

await test('a review: its groups and texts, links that work, nothing hostile', () => look('review', desktop, async page => {
  const want = fs.readFileSync(path.join(dir, 'review.jsonl'), 'utf8').split('\n').filter(l => l).map(l => JSON.parse(l));
  const groups = new Set(want.map(x => x.group).filter(g => g));
  assert.ok(groups.size > 2);
  assert.equal(await page.locator('.card').count(), groups.size);
  assert.equal(await page.locator('[aria-label="Groups"] tbody tr').count(), groups.size);
  assert.equal(await page.locator('#g1 li').count(), want.filter(x => x.group === 1).length);
  assert.ok(squeeze(await page.locator('#g1 li').first().textContent()).startsWith(squeeze(want[0].text.slice(0, 20))));
  assert.equal(await page.locator('[aria-label="Probably known"] tbody tr').count(), Math.min(300, want.filter(x => x.kind === 'probably-known').length));
  await page.locator('[aria-label="Groups"] a').nth(1).click();
  assert.ok(await page.locator('#g2').evaluate(e => Math.abs(e.getBoundingClientRect().top) < 5 || scrollY + innerHeight >= document.documentElement.scrollHeight - 5));
  assert.equal(await page.evaluate(() => window.hit), undefined);
  assert.equal(await page.locator('main img, main script').count(), 0);
  await shot(page, 'review');
}));

for (const name of ['test', 'compare', 'review', 'gallery'])
  for (const width of [360, 320, 768])
    await test(`${name}: nothing sticks out of a screen of ${width} pixels`, () => look(name, { ...phone, viewport: { width, height: 740 } }, async page => {
      await openAll(page);
      assert.deepEqual(await page.evaluate(sticksOut), []);
      const small = await page.locator('svg[role=img] text').evaluateAll(t => Math.min(99, ...t.map(e => e.getBoundingClientRect().height)));
      assert.ok(small >= 9, `letters of ${small} pixels`);
      if (width === 360) await shot(page, name + '-phone');
    }));

for (const [name, options] of Object.entries({ light: desktop, dark }))
  for (const file of ['test', 'compare', 'review', 'gallery'])
    await test(`${file}: text has contrast, ${name}`, () => look(file, options, async page => {
      await openAll(page);
      const { seen, bad } = await page.evaluate(lowContrast);
      assert.ok(seen > 40);
      assert.deepEqual(bad, []);
      if (name === 'dark' || file === 'gallery') await shot(page, file + '-' + name);
    }));

await test('in print', () => look('test', dark, async page => {
  await page.emulateMedia({ media: 'print' });
  await page.setViewportSize({ width: 718, height: 1000 }); // A4 less its margins
  const { bad } = await page.evaluate(lowContrast);
  assert.deepEqual(bad, []);
  assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), 'rgb(255, 255, 255)');
  assert.equal(await page.locator('.tip').isVisible(), false);
  const pdf = await page.pdf({ path: path.join(dir, 'report.pdf'), format: 'A4', margin: { top: '1cm', bottom: '1cm', left: '1cm', right: '1cm' } });
  assert.ok(pdf.length > 20000 && pdf.subarray(0, 5).toString() === '%PDF-');
  await shot(page, 'print');
}));

await test('without scripts only the tooltips are missing', () => look('test', { ...desktop, javaScriptEnabled: false }, async page => {
  assert.equal(await page.locator('.tiles > li').count(), 9);
  assert.ok(await page.locator('.pts').count() >= 9);
}));

for (const [name, words] of Object.entries({ known: 'has no open texts', open: 'has no texts of known classes', one: 'Of 1 text of' }))
  await test(`a test set of ${name} text`, () => look(name, desktop, async page => {
    assert.ok((await page.locator('main').innerText()).includes(words));
    assert.equal((await page.evaluate(pointAt, 0)).n, rows(name).length);
    const p = await page.evaluate(pointAt, 0);
    await page.mouse.move(p.x, p.y);
    assert.ok(squeeze(await tipText(page)).startsWith(squeeze(p.text)));
  }));

await test('every kind of chart is drawn', () => look('gallery', desktop, async page => {
  assert.equal(await page.locator('svg[role=img]').count(), 5);
  const sizes = await page.locator('svg .line, svg > rect, svg .band').evaluateAll(all => all.map(e => e.getBoundingClientRect().width));
  assert.ok(sizes.length >= 14 && sizes.every(w => w > 0));
}));

await test('the content policy stops what a page must not do', async () => {
  const context = await browser.newContext(), page = await context.newPage(), refused = [];
  page.on('console', m => refused.push(m.text()));
  await page.goto('file://' + path.join(dir, 'test.html'));
  assert.equal(await page.evaluate(() => fetch('https://example.invalid/').then(() => 'went out', () => 'refused')), 'refused');
  assert.ok(refused.some(t => t.includes('Content Security Policy')), refused.join());
  await context.close();
});

await done();

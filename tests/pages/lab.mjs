// lab.mjs BROWSER DIR - what a browser makes of the lab's pages in DIR; prints TAP
import assert from 'node:assert/strict';
import path from 'node:path';
import { dark, desktop, dir, done, look as open, phone, squeeze, test } from './browser.mjs';

// With everything that is folded away laid open.
const look = (name, options, run) => open(name, options, async page => {
  await page.evaluate(() => document.querySelectorAll('details').forEach(d => { d.open = true; }));
  await run(page);
});
const shot = (page, name) => page.screenshot({ path: path.join(dir, name + '.png'), fullPage: true });
const tipText = (page, map) => page.locator('.tip').nth(map).evaluate(t => getComputedStyle(t).visibility === 'visible' ? t.innerText : null);

// Runs in the page: where a point of a map is on the screen, and what it says.
const pointAt = ([map, i]) => {
  const fig = document.querySelectorAll('.map')[map], svg = fig.querySelector('.plot svg');
  const all = [...fig.querySelectorAll('.pts')].flatMap(p => [...p.getAttribute('d').matchAll(/(-?[\d.]+) (-?[\d.]+)/g)]);
  svg.scrollIntoView({ block: 'center' });
  const m = svg.getScreenCTM(), [x, y] = [+all[i][1], +all[i][2]];
  const first = all.findIndex(p => +p[1] === x && +p[2] === y);
  const data = JSON.parse(fig.querySelector('script').textContent), d = data.points[first];
  return { n: all.length, told: data.points.length, x: x * m.a + m.e, y: y * m.d + m.f, text: d[0], truth: data.names[d[1]], answer: data.names[d[2]] };
};

// Runs in the page: what sticks out of a screen of this width, but for what scrolls.
const sticksOut = () => {
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width) return [`the page is ${document.documentElement.scrollWidth} wide`];
  return [...document.body.querySelectorAll('*')].filter(e => !e.closest('.scroll *, .tip, defs, marker, clipPath, clipPath ~ g') && e.getClientRects().length && e.getBoundingClientRect().right > width + 1)
    .map(e => e.tagName + '.' + e.getAttribute('class'));
};

// Runs in the page: words with less contrast than 4.5 to 1 against the paper.
const lowContrast = () => {
  const parse = c => c.match(/[\d.]+/g).map(Number);
  const light = c => { const [r, g, b] = c.map(v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const paper = light(parse(getComputedStyle(document.body).backgroundColor).slice(0, 3)), bad = [];
  let seen = 0;
  const walk = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT);
  for (let node; (node = walk.nextNode());) {
    const e = node.parentElement;
    if (!node.data.trim() || e.closest('script, title, desc, .tip') || !e.getClientRects().length) continue;
    const style = getComputedStyle(e), ink = light(parse(e.closest('svg') ? style.fill : style.color).slice(0, 3));
    const ratio = (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
    seen++;
    if (ratio < 4.5) bad.push(`${ratio.toFixed(2)}: ${node.data.trim().slice(0, 40)}`);
  }
  return { seen, bad };
};

await test('the page shows every part', () => look('lab', desktop, async page => {
  const got = await page.evaluate(() => ({
    headings: [...document.querySelectorAll('h2')].map(h => h.textContent),
    figures: [...document.querySelectorAll('svg[role=img]')].map(s => [s.querySelector('title').textContent, s.querySelector('desc').textContent, s.getBoundingClientRect().height > 100]),
    bars: document.querySelectorAll('.facets rect').length,
    lines: document.querySelectorAll('.lines .line').length,
    best: [...document.querySelectorAll('[aria-label="Accuracy and F1 of every method"] b')].map(b => b.closest('tr').querySelector('th').textContent),
  }));
  assert.deepEqual(got.headings, ['What was run', 'ANS against each method', 'Methods compared', 'What each part of ANS adds', 'One setting at a time', 'What ANS gets wrong', 'Times of ANS', 'What three heads see', 'How to repeat this']);
  assert.equal(got.figures.length, 6); // bars, parts, radius, three maps
  for (const [title, description, drawn] of got.figures) assert.ok(title && description && drawn, title);
  assert.equal(got.bars, 2 * 3); // accuracy and F1 of three methods
  assert.equal(got.lines, 1);
  assert.ok(got.best.length >= 2);
  await shot(page, 'lab-light');
}));

await test('bars are as wide as their figures', () => look('lab', desktop, async page => {
  const bars = await page.locator('.facets rect').evaluateAll(all => all.map(e => [e.getAttribute('width') / 100, +e.textContent.match(/: ([\d.]+)/)[1]]));
  const unit = bars[0][0] / bars[0][1];
  for (const [width, value] of bars) assert.ok(Math.abs(width / unit - value) < 0.5, `${width / unit} for ${value}`);
}));

await test('pointing at a text on the map of a head shows it', () => look('lab', desktop, async page => {
  for (const map of [0, 1, 2]) {
    const n = (await page.evaluate(pointAt, [map, 0])).n;
    for (const i of [0, 20, n - 1]) {
      const p = await page.evaluate(pointAt, [map, i]);
      assert.equal(p.told, p.n);
      await page.mouse.move(p.x, p.y);
      const tip = squeeze(await tipText(page, map) ?? '');
      assert.ok(tip.startsWith(squeeze(p.text)), `${tip} does not start with ${p.text}`);
      assert.ok(/answer: (accepted|rejected) by this head$/.test(tip), tip);
      if (i < n - 1) assert.ok(tip.includes('label: ' + p.truth), tip);
    }
  }
  await page.screenshot({ path: path.join(dir, 'lab-tip.png') });
}));

await test('so does tapping it', () => look('lab', phone, async page => {
  const p = await page.evaluate(pointAt, [1, 5]);
  await page.touchscreen.tap(p.x, p.y);
  assert.ok(squeeze(await tipText(page, 1)).startsWith(squeeze(p.text)));
}));

await test('hostile names stay text', () => look('lab-odd', desktop, async page => {
  assert.equal(await page.evaluate(() => window.hit), undefined);
  assert.equal(await page.locator('main img, main script:not([type])').count(), 0);
  assert.ok((await page.locator('main').innerText()).includes('<script>window.hit=1</script>'));
}));

for (const name of ['lab', 'lab-odd'])
  for (const width of [360, 320, 768])
    await test(`${name}: nothing sticks out of a screen of ${width} pixels`, () => look(name, { ...phone, viewport: { width, height: 740 } }, async page => {
      assert.deepEqual(await page.evaluate(sticksOut), []);
      const small = await page.locator('svg[role=img] text').evaluateAll(t => Math.min(99, ...t.map(e => e.getBoundingClientRect().height)));
      assert.ok(small >= 9, `letters of ${small} pixels`);
      if (width === 360) await shot(page, name + '-phone');
    }));

for (const [name, options] of Object.entries({ light: desktop, dark }))
  await test(`text has contrast, ${name}`, () => look('lab', options, async page => {
    const { seen, bad } = await page.evaluate(lowContrast);
    assert.ok(seen > 100);
    assert.deepEqual(bad, []);
    await shot(page, 'lab-' + name);
  }));

await test('in print', () => look('lab', dark, async page => {
  await page.emulateMedia({ media: 'print' });
  await page.setViewportSize({ width: 718, height: 1000 });
  assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), 'rgb(255, 255, 255)');
  assert.deepEqual((await page.evaluate(lowContrast)).bad, []);
  await shot(page, 'lab-print');
}));

await done();

// browser.mjs - what the tests of pages share: a browser, TAP, a page under watch.
// A test program is started with BROWSER DIR.
import assert from 'node:assert/strict';
import path from 'node:path';
import { chromium } from 'playwright-core';

export const dir = path.resolve(process.argv[3]);
export const browser = await chromium.launch({ executablePath: process.argv[2], args: ['--no-sandbox'], timeout: 120000 });
export const desktop = { viewport: { width: 1000, height: 900 } };
export const dark = { ...desktop, colorScheme: 'dark' };
export const phone = { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true, deviceScaleFactor: 2 };
export const squeeze = s => s.replace(/\s+/g, ' ').trim();
let number = 0, failures = 0;

export async function test(name, run) {
  try {
    await run();
    console.log(`ok ${++number} - ${name}`);
  } catch (e) {
    failures++;
    console.log(`not ok ${++number} - ${name}`);
    console.log(String(e.stack ?? e).split('\n').map(l => '# ' + l).join('\n'));
  }
}

// Opens a page; whatever it asks for or complains about fails the test.
export async function look(name, options, run) {
  const context = await browser.newContext(options), page = await context.newPage();
  page.setDefaultTimeout(300000);
  const trouble = [], url = 'file://' + path.join(dir, name + '.html');
  page.on('console', m => trouble.push('console: ' + m.text()));
  page.on('pageerror', e => trouble.push('error: ' + e));
  page.on('dialog', d => { trouble.push('dialog: ' + d.message()); d.dismiss(); });
  page.on('request', r => { if (r.url() !== url && r.url() !== 'data:,') trouble.push('request: ' + r.url()); });
  try {
    await page.goto(url);
    await run(page);
    assert.deepEqual(trouble, []);
  } finally {
    await context.close();
  }
}

// Runs in the page: text with less contrast than 4.5 to 1 against what is behind it.
export const lowContrast = () => {
  const parse = c => { const m = c.match(/[\d.]+/g)?.map(Number) ?? [0, 0, 0, 0]; return m.length === 3 ? [...m, 1] : m; };
  const over = (a, b) => [0, 1, 2].map(i => a[i] * a[3] + b[i] * (1 - a[3]));
  const light = c => { const [r, g, b] = c.map(v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const behind = e => { const layers = []; for (; e; e = e.parentElement) layers.push(parse(getComputedStyle(e).backgroundColor)); return layers.reverse().reduce((under, l) => over(l, under), [255, 255, 255]); };
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), bad = [];
  let seen = 0;
  for (let node; node = walk.nextNode();) {
    const e = node.parentElement;
    if (!node.data.trim() || !e.getClientRects().length || e.closest('script,title,desc')) continue;
    const style = getComputedStyle(e), under = behind(e);
    const ink = over(parse(e.closest('svg') ? style.fill : style.color), under);
    const [a, b] = [light(ink), light(under)].sort((x, y) => y - x), ratio = (a + 0.05) / (b + 0.05);
    seen++;
    if (ratio < 4.5) bad.push(`${ratio.toFixed(2)}: ${node.data.trim().slice(0, 40)}`);
  }
  return { seen, bad };
};

// Runs in the page: what sticks out of a screen of this width, but for what scrolls.
export const sticksOut = () => {
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width) return [`the page is ${document.documentElement.scrollWidth} wide`];
  return [...document.body.querySelectorAll('*')].filter(e => !e.closest('.scroll *, .tip, defs, marker') && e.getClientRects().length && e.getBoundingClientRect().right > width + 1)
    .map(e => e.tagName + '.' + e.getAttribute('class'));
};

// The plan, and the exit code.
export async function done() {
  await browser.close();
  console.log(`1..${number}`);
  process.exit(failures ? 1 : 0); // also if a test that failed left a server behind
}

// browser.mjs - what the tests of pages share: a browser, TAP, a page under watch.
// A test program is started with BROWSER DIR.
import assert from 'node:assert/strict';
import path from 'node:path';
import { chromium } from 'playwright-core';

export const dir = path.resolve(process.argv[3]);
export const browser = await chromium.launch({ executablePath: process.argv[2], args: ['--no-sandbox'] });
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

// The plan, and the exit code.
export async function done() {
  await browser.close();
  console.log(`1..${number}`);
  process.exitCode = failures ? 1 : 0;
}

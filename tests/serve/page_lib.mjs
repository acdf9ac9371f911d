// page_lib.mjs - shared by the tests of the page: servers, visits, what is shown
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { browser, desktop, dir } from '../pages/browser.mjs';

export const program = process.env.RF_PROGRAM ?? 'build/ringfence';
export const file = name => path.join(dir, name);
export const read = name => fs.readFileSync(file(name), 'utf8');
export const ringfence = (args, input) => execFileSync(program, args, { input, encoding: 'utf8', maxBuffer: 1 << 28 });
export const wide = { ...desktop, reducedMotion: 'reduce', viewport: { width: 1180, height: 1000 } };

/* ---- Servers ---- */

export const running = new Set(); // none of them outlives this program
process.on('exit', () => { for (const child of running) child.kill('SIGKILL'); });
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(1));
// Starts a server of a model; `listen` is 127.0.0.1:0 for any port.
export function serve(model, listen = '127.0.0.1:0', ...options) {
  const child = spawn(program, ['serve', file(model), '--listen', listen, ...options], { stdio: ['ignore', 'ignore', 'pipe'] });
  running.add(child);
  return new Promise((ready, failed) => {
    let said = '';
    child.stderr.setEncoding('utf8').on('data', text => {
      const found = (said += text).match(/listening on (http:\/\/127\.0\.0\.1:(\d+))/);
      if (found) ready({ child, url: found[1], listen: `127.0.0.1:${found[2]}` });
    });
    child.on('close', code => { running.delete(child); failed(new Error(`serve ended with ${code}: ${said}`)); });
  });
}
export const kill = ({ child }) => new Promise(gone => {
  running.delete(child);
  if (child.exitCode !== null || child.signalCode) return gone();
  child.on('exit', gone);
  child.kill('SIGKILL');
});

/* ---- Pages ---- */

// Opens the page of a server. A request to another origin and any console message fail the test,
// except messages that match `expected`.
export async function visit(server, options, run, expected = /^$/) {
  const context = await browser.newContext({ acceptDownloads: true, ...options }), page = await context.newPage(), trouble = [];
  page.setDefaultTimeout(300000);
  page.on('console', m => trouble.push('console: ' + m.text()));
  page.on('pageerror', e => trouble.push('error: ' + e));
  page.on('dialog', d => { trouble.push('dialog: ' + d.message()); d.dismiss(); });
  page.on('request', r => { if (!r.url().startsWith(server.url + '/') && r.url() !== 'data:,' && !r.url().startsWith('blob:' + server.url)) trouble.push('request: ' + r.url()); });
  await page.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', e => console.error('policy: ' + e.violatedDirective));
  });
  try {
    await page.goto(server.url + '/');
    await run(page);
    assert.equal(await page.evaluate(() => window.hit), undefined);
    assert.deepEqual(trouble.filter(t => !expected.test(t)), []);
  } finally {
    await context.close();
  }
}
// The policy of the page forbids Playwright's waitForFunction.
export async function until(what, check) {
  for (const end = Date.now() + 300000; ;) {
    const got = await check();
    if (got) return got;
    assert.ok(Date.now() < end, 'timed out waiting for ' + what);
    await new Promise(r => setTimeout(r, 40));
  }
}
export const ready = page => page.waitForSelector('#state[data-state=ok]');
export const openTab = (page, tab) => page.click('#tab-' + tab);
export const shot = (page, name, options) => page.screenshot({ path: path.join(dir, '..', `serve-${name}.png`), ...options });
export const shownRows = page => page.locator('.row').evaluateAll(all => all.map(li => ({ kind: li.querySelector('.kind').innerText, label: li.querySelector('.label').innerText, confidence: li.querySelector('.head > .num').innerText, text: li.querySelector('.said').textContent })));
export async function type(page, lines) {
  await page.fill('#texts', lines.join('\n'));
  await until('an answer for each line', async () => (await page.locator('#summary').innerText()).startsWith(`${lines.length.toLocaleString('en')} text`) && await page.locator('#results').getAttribute('aria-busy') === null);
}
// By clipboard: Playwright's fill takes seconds for a thousand lines.
export async function paste(page, into, text) {
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.evaluate(t => navigator.clipboard.writeText(t), text);
  await page.focus(into);
  await page.keyboard.press('Control+V');
}
export async function saved(page, button) {
  const [download] = await Promise.all([page.waitForEvent('download'), page.click(button)]);
  return fs.readFileSync(await download.path(), 'utf8');
}
export const predict = (model, lines, ...options) => ringfence(['predict', file(model), '--json', ...options], lines.join('\n') + '\n').trimEnd().split('\n').map(l => JSON.parse(l));
export const percent = share => `${(100 * share).toFixed(1)} %`;

// A TSV reader independent of that of the page.
export const tsv = text => [...text.matchAll(/((?:"(?:[^"]|"")*"|[^\t\n]*)(?:\t(?:"(?:[^"]|"")*"|[^\t\n]*))*)\n/g)].map(m => [...m[1].matchAll(/(?:^|\t)("(?:[^"]|"")*"|[^\t]*)/g)].map(f => f[1].startsWith('"') ? f[1].slice(1, -1).replaceAll('""', '"') : f[1]));

export const ask = async (server, body) => (await fetch(server.url + '/v1/classify', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) })).json();

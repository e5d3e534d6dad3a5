import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';
import { HOSTILE, log } from './log.mjs';

const screenshots = resolve(process.env.SCREENSHOTS);
let browser;
let folder;

before(async () => {
  mkdirSync(screenshots, { recursive: true });
  folder = mkdtempSync(join(tmpdir(), 'report-'));
  // As root, in a container or not, Chromium has no sandbox of its own; it opens nothing but the page made here.
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM, chromiumSandbox: false });
});

after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

function report(count) {
  const path = join(folder, `${count}.html`);
  writeFileSync(join(folder, `${count}.log`), log(count));
  execFileSync(process.env.ETCD_WARDEN, ['audit', 'report', '--html', path, join(folder, `${count}.log`)]);
  return path;
}

// Opens a page, and fails if it says an error, loads anything or asks anybody anything.
async function open(path, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  const faults = [];
  page.on('console', (message) => faults.push(message.text()));
  page.on('pageerror', (error) => faults.push(String(error)));
  page.on('dialog', (dialog) => faults.push(dialog.message()));
  page.on('request', (request) => request.url() === pathToFileURL(path).href || faults.push(request.url()));
  await page.goto(pathToFileURL(path).href);
  return { page, close: async () => { assert.deepEqual(faults, []); await context.close(); } };
}

const shown = (page) => page.locator('.record:visible').count();
const shot = (page, name) => page.screenshot({ path: join(screenshots, `${name}.png`) });

test('a filter shows what fits and says how many', async () => {
  const { page, close } = await open(report(200));
  assert.equal(await page.locator('output').textContent(), '200 of 200 shown');
  const first = page.locator('.tables section').first().getByRole('button').first();
  const rule = await first.textContent();
  await first.click();
  const fitting = await page.locator(`.record[data-rules="${rule}"]`).count();
  assert.ok(fitting > 0 && fitting < 200, `${fitting} of ${rule}`);
  assert.equal(await shown(page), fitting);
  assert.equal(await page.locator('output').textContent(), `${fitting} of 200 shown`);
  await page.getByLabel('Namespace').selectOption('team-7');
  const both = await page.locator(`.record[data-rules="${rule}"][data-namespace="team-7"]`).count();
  assert.equal(await shown(page), both);
  await page.getByRole('button', { name: 'Show all' }).click();
  await page.waitForFunction(() => document.querySelector('output').value === '200 of 200 shown');
  await page.getByLabel('Text').fill('INVALID VALUE: -42:');
  assert.equal(await shown(page), 1);
  await page.getByLabel('Text').fill('no such text');
  assert.equal(await shown(page), 0);
  await close();
});

test('what is in a log stays text', async () => {
  const { page, close } = await open(report(3));
  const record = page.locator('.record', { hasText: '00000001' });
  await record.locator('summary').click();
  assert.equal(await page.evaluate(() => window.broken), undefined);
  assert.equal(await page.locator('img').count() + await page.locator('.record script').count(), 0);
  assert.ok((await record.textContent()).includes(HOSTILE.slice(0, 60)));
  assert.equal(await record.locator('mark').textContent(), '  replicas: -1');
  assert.ok(!/[\u202e\u2028]/.test(await page.content()));
  await shot(page, '3');
  await close();
});

test('without scripts everything is read, and nothing is shown that would do nothing', async () => {
  const { page, close } = await open(report(3), { javaScriptEnabled: false });
  assert.equal(await shown(page), 3);
  assert.equal(await page.locator('form').isVisible(), false);
  assert.equal(await page.locator('pre').first().isVisible(), false);
  await page.locator('.record summary').first().click();
  assert.equal(await page.locator('pre').first().isVisible(), true);
  await close();
});

test('a log of nothing makes a page that says so', async () => {
  const { page, close } = await open(report(0));
  assert.match(await page.textContent('header'), /No record fits/);
  await shot(page, '0');
  await close();
});

test('fifty thousand records open at once', async () => {
  const path = report(50000);
  const began = performance.now();
  const { page, close } = await open(path);
  assert.equal(await page.locator('output').textContent(), '1000 of 1000 shown');
  const opened = performance.now() - began;
  const size = statSync(path).size;
  const typing = await page.evaluate(() => {
    const text = document.querySelector('input');
    const start = performance.now();
    text.value = 'alice';
    text.dispatchEvent(new Event('input', { bubbles: true }));
    return performance.now() - start;
  });
  console.log(`${size} bytes, opened in ${Math.round(opened)} ms, searched in ${Math.round(typing)} ms`);
  assert.ok(opened < 5000, `${opened} ms`);
  assert.ok(size < 10_000_000, `${size} bytes`);
  assert.match(await page.textContent('main'), /newest 1,000 of 50,000 are on this page/);
  await page.getByRole('button', { name: 'Show all' }).click();
  await shot(page, '50000-records');
  await page.evaluate(() => window.scrollTo(0, 0));
  await shot(page, '50000');
  await close();
});

test('it fits a telephone, a dark room and a sheet of paper', async () => {
  const path = report(200);
  const narrow = await open(path, { viewport: { width: 390, height: 844 } });
  const overflow = await narrow.page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  assert.ok(overflow <= 0, `${overflow} pixels too wide`);
  await shot(narrow.page, 'narrow');
  await narrow.close();
  const dark = await open(path, { colorScheme: 'dark' });
  const back = await dark.page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  assert.equal(back, 'rgb(20, 24, 29)');
  await dark.page.locator('.record summary').first().click();
  await dark.page.locator('.record').first().scrollIntoViewIfNeeded();
  await shot(dark.page, 'dark');
  await dark.close();
  const paper = await open(path);
  await paper.page.emulateMedia({ media: 'print' });
  assert.equal(await paper.page.locator('form').isVisible(), false);
  await paper.page.pdf({ path: join(screenshots, 'printed.pdf') });
  await paper.close();
});

// Drives Debian's Chromium for the tests:  node browser.mjs CHROMIUM FOLDER
// Reads one command per line, {"do": NAME, ...}, and answers with one line, {"value": …} or {"error": "…"}.
// FOLDER has the installed programs (node_modules).
import {readFileSync} from "node:fs";
import {createRequire} from "node:module";
import path from "node:path";
import {createInterface} from "node:readline";
import {pathToFileURL} from "node:url";

const [executablePath, folder] = process.argv.slice(2);
const require = createRequire(path.join(folder, "x.js"));
const {default: puppeteer} = await import(pathToFileURL(require.resolve("puppeteer-core")));
const axeSource = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const timeout = 120_000;

const browser = await puppeteer.launch({
  executablePath,
  timeout,
  // Tests run as root in containers; the pages are those of this project.
  args: [
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--use-fake-ui-for-media-stream",
    "--use-fake-device-for-media-stream",
    "--autoplay-policy=no-user-gesture-required",
  ],
});

let page;
let context;
let problems = [];

// A page without anything of the pages before. What its scripts and its policy complain about is kept.
// Requests for addresses that end with `without` fail.
async function open({url, width = 1280, height = 800, dark = false, without = null}) {
  if (context) await context.close();
  context = await browser.createBrowserContext();
  page = await context.newPage();
  problems = [];
  page.setDefaultTimeout(timeout);
  await page.setViewport({width, height});
  await page.emulateMediaFeatures([{name: "prefers-color-scheme", value: dark ? "dark" : "light"}]);
  page.on("pageerror", (error) => problems.push(`script: ${error.message}`));
  page.on("dialog", async (dialog) => {
    problems.push(`dialog: ${dialog.message()}`);
    await dialog.dismiss();
  });
  page.on("console", (message) => {
    // Refusals that a test provokes are no mistakes of the page.
    if (message.type() === "error" && !/Failed to load resource/.test(message.text())) {
      problems.push(`console: ${message.text()}`);
    }
  });
  await page.evaluateOnNewDocument(() => {
    addEventListener("securitypolicyviolation", (event) => {
      console.error(`policy: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`);
    });
  });
  if (without) {
    await page.setRequestInterception(true);
    page.on("request", (request) => (request.url().endsWith(without) ? request.abort() : request.continue()));
  }
  await page.goto(url);
}

async function axe() {
  const source = `${axeSource}\naxe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]})`;
  const {result, exceptionDetails} = await (await page.createCDPSession()).send("Runtime.evaluate", {
    expression: source,
    awaitPromise: true,
    returnByValue: true,
  });
  if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
  return result.value.violations.map(
    ({id, nodes}) =>
      `${id}: ${nodes.map(({html, failureSummary}) => `${html} ${failureSummary}`).join("; ")}`,
  );
}

const commands = {
  open,
  goto: ({url}) => page.goto(url).then(() => null),
  reload: () => page.reload().then(() => null),
  evaluate: ({script}) => page.evaluate(script),
  // Waits until an expression is true in the page.
  wait: ({script}) => page.waitForFunction(script, {polling: 50}).then(() => null),
  click: ({selector}) => page.locator(selector).click(),
  // Not the driver's own focus(), which refuses elements of SVG.
  focus: ({selector}) =>
    page.waitForSelector(selector).then((element) => element.evaluate((one) => one.focus())),
  type: ({text}) => page.keyboard.type(text),
  press: ({keys}) =>
    keys.reduce((before, key) => before.then(() => page.keyboard.press(key)), Promise.resolve()),
  upload: async ({selector, files}) => (await page.$(selector)).uploadFile(...files),
  resize: ({width, height}) => page.setViewport({width, height}),
  screenshot: ({file}) => page.screenshot({path: file}).then(() => null),
  axe,
  problems: () => problems,
};

for await (const line of createInterface({input: process.stdin})) {
  const command = JSON.parse(line);
  let answer;
  try {
    answer = {value: (await commands[command.do](command)) ?? null};
  } catch (error) {
    answer = {error: String(error?.stack ?? error)};
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
await browser.close();

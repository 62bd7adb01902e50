// Builds Studio:  node build.mjs NODE_MODULES TARGET
// TARGET gets index.html and files whose names have a hash of their content, each with its .gz.
import {createHash} from "node:crypto";
import {mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync} from "node:fs";
import {createRequire} from "node:module";
import path from "node:path";
import {gzipSync} from "node:zlib";

const [modules, target] = process.argv.slice(2).map((folder) => path.resolve(folder));
const {build} = createRequire(path.join(modules, "x.js"))("esbuild");
const source = import.meta.dirname;

// Returns the name of each result by its entry point.
async function bundle(entryPoints, options) {
  const {metafile} = await build({
    absWorkingDir: source,
    entryPoints,
    outdir: target,
    entryNames: "[name]-[hash]",
    chunkNames: "[name]-[hash]",
    bundle: true,
    minify: true,
    metafile: true,
    legalComments: "none",
    target: ["es2023"],
    nodePaths: [modules],
    mainFields: ["module", "main"],
    jsx: "automatic",
    jsxImportSource: "preact",
    logLevel: "warning",
    ...options,
  });
  const names = {};
  for (const [file, {entryPoint}] of Object.entries(metafile.outputs)) {
    if (entryPoint) names[entryPoint] = path.basename(file);
  }
  return names;
}

// The licences of what the scripts contain.
function licences() {
  return ["preact", "@dagrejs/dagre", "marked", "dompurify"]
    .map((name) => {
      const folder = path.join(modules, name);
      const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one));
      return `${name}\n\n${readFileSync(path.join(folder, file), "utf8").trim()}\n`;
    })
    .join(`\n${"-".repeat(72)}\n\n`);
}

function hashed(name, text) {
  const hash = createHash("sha256").update(text).digest("hex").slice(0, 8).toUpperCase();
  const {name: stem, ext} = path.parse(name);
  writeFileSync(path.join(target, `${stem}-${hash}${ext}`), text);
  return `${stem}-${hash}${ext}`;
}

rmSync(target, {recursive: true, force: true});
mkdirSync(target, {recursive: true});

const {"src/live/capture.ts": capture} = await bundle(["src/live/capture.ts"], {format: "iife"});
const names = await bundle(["src/main.tsx", "src/style/studio.css"], {
  format: "esm",
  splitting: true,
  define: {CAPTURE_FILE: JSON.stringify(capture)},
});
const icon = hashed("icon.svg", readFileSync(path.join(source, "icon.svg")));
writeFileSync(path.join(target, "LICENSES.txt"), licences());
const page = readFileSync(path.join(source, "index.html"), "utf8")
  .replace("studio.css", names["src/style/studio.css"])
  .replace("main.js", names["src/main.tsx"])
  .replace("icon.svg", icon);
writeFileSync(path.join(target, "index.html"), page);

let total = 0;
for (const name of readdirSync(target)) {
  const packed = gzipSync(readFileSync(path.join(target, name)), {level: 9});
  writeFileSync(path.join(target, `${name}.gz`), packed);
  if (name !== "LICENSES.txt") total += packed.length;
}
console.log(`${path.relative(process.cwd(), target)}: ${(total / 1000).toFixed(1)} kB compressed`);

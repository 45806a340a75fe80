// Prints what the Khronos validator says of GLB files; exits with 1 for an error or a warning.
const fs = require("fs");
const validator = require("gltf-validator");

async function main() {
  for (const name of process.argv.slice(2)) {
    const report = await validator.validateBytes(new Uint8Array(fs.readFileSync(name)));
    const { numErrors, numWarnings, numInfos, numHints, messages } = report.issues;
    const isGood = numErrors + numWarnings === 0;
    console.log(`${isGood ? "ok  " : "FAIL"} khronos  ${name}: ${numErrors} errors, ${numWarnings} warnings, ${numInfos} infos, ${numHints} hints`);
    if (!isGood) {
      console.log(messages.slice(0, 10));
      process.exitCode = 1;
    }
  }
}

main();

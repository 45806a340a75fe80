// Test of the page for `cargo xtask web`: posts its results to the server.
import { kernels, scenes } from "./poplin_web.js";

const FRAMES = 60;
/// Shader with a barrier in divergent control flow, which every browser must reject.
const DIVERGENT = "@compute @workgroup_size(4) fn k(@builtin(local_invocation_index) lane: u32) "
  + "{ if (lane == 0u) { workgroupBarrier(); } }";
const canvas = document.getElementById("canvas");
const post = (name, body) => fetch(`/result/${name}`, { method: "POST", body });
const picture = () => new Promise(requestAnimationFrame);

/// Returns the canvas as drawn in this task; later its texture belongs to the compositor.
const screenshot = () => new Promise((done) => canvas.toBlob(done, "image/png"));

const pointer = (type, [x, y]) => canvas.dispatchEvent(
  new PointerEvent(type, { pointerId: 1, button: 0, clientX: x, clientY: y, bubbles: true }));

/// Returns the errors of the browser's compiler for all kernels, including those that no scene uses.
async function complaints() {
  const device = await (await navigator.gpu.requestAdapter()).requestDevice();
  device.pushErrorScope("validation");
  const errors = async (code) => (await device.createShaderModule({ code }).getCompilationInfo()).messages
    .filter(({ type }) => type === "error").map(({ lineNum, message }) => `line ${lineNum}: ${message}`);
  if ((await errors(DIVERGENT)).length === 0) throw new Error("the compiler accepts a divergent barrier");
  const found = (await Promise.all(kernels().map(errors))).flat();
  await device.popErrorScope();
  device.destroy();
  return found;
}

/// Runs every scene, and drags the cloth of the first one with pointer events.
async function run(page) {
  const { sceneCanvas } = page;
  await post("kernels.txt", (await complaints()).join("\n"));
  for (const scene of scenes()) {
    const begin = performance.now();
    page.open(scene);
    let shown;
    for (let frame = 0; frame < FRAMES; frame++) {
      await picture();
      sceneCanvas.step();
      if (frame === FRAMES - 1) shown = screenshot();
    }
    await post(`${scene}.bin`, await sceneCanvas.particles());
    await post(`${scene}.png`, await shown);
    await post(`${scene}.txt`, `${((performance.now() - begin) / FRAMES).toFixed(1)} ms a frame`);
  }

  page.open(scenes()[0]);
  const middle = [canvas.clientWidth / 2, canvas.clientHeight / 2];
  for (let frame = 0; frame < FRAMES; frame++) {
    await picture();
    // Waits for the device: on a slow one, frames behind, the pointer would meet the cloth at an old position.
    await sceneCanvas.particles();
    sceneCanvas.step();
    if (frame === 20) pointer("pointerdown", middle);
    if (frame >= 20) pointer("pointermove", [middle[0], middle[1] - 5 * (frame - 20)]);
  }
  const isHeld = page.isHolding && canvas.classList.contains("held");
  sceneCanvas.step();
  const shown = screenshot();
  await post("drag.bin", await sceneCanvas.particles());
  await post("drag.png", await shown);
  pointer("pointerup", middle);
  await post("drag.txt", isHeld && !canvas.classList.contains("held") ? "held and released" : "not held");
}

/// Tests the page, or posts the message that it shows instead of cloth.
export async function test(page) {
  try {
    const opened = await page;
    if (opened) await run(opened);
    const message = document.getElementById("message");
    await post("done", message.hidden ? "passed" : message.innerText);
  } catch (error) {
    await post("done", `failed: ${error?.stack ?? error}`);
  }
}

// What `cargo xtask web` has the page do: it posts what it finds to its server.
import { kernels, scenes } from "./poplin_web.js";

const FRAMES = 60;
/// A barrier under a condition of the lane, which no browser may take.
const DIVERGENT = "@compute @workgroup_size(4) fn k(@builtin(local_invocation_index) lane: u32) "
  + "{ if (lane == 0u) { workgroupBarrier(); } }";
const canvas = document.getElementById("canvas");
const post = (name, body) => fetch(`/result/${name}`, { method: "POST", body });
const picture = () => new Promise(requestAnimationFrame);

/// The canvas as it was drawn in this task: later its texture belongs to the compositor.
const screenshot = () => new Promise((done) => canvas.toBlob(done, "image/png"));

const pointer = (type, [x, y]) => canvas.dispatchEvent(
  new PointerEvent(type, { pointerId: 1, button: 0, clientX: x, clientY: y, bubbles: true }));

/// What the browser's compiler says against any kernel: scenes do not use all of them.
async function complaints() {
  const device = await (await navigator.gpu.requestAdapter()).requestDevice();
  device.pushErrorScope("validation");
  const errors = async (code) => (await device.createShaderModule({ code }).getCompilationInfo()).messages
    .filter(({ type }) => type === "error").map(({ lineNum, message }) => `line ${lineNum}: ${message}`);
  if ((await errors(DIVERGENT)).length === 0) throw new Error("the compiler takes a divergent barrier");
  const found = (await Promise.all(kernels().map(errors))).flat();
  await device.popErrorScope();
  device.destroy();
  return found;
}

/// Runs every scene, and drags the cloth of the first one by events of the pointer.
async function run(page) {
  const { stage } = page;
  await post("kernels.txt", (await complaints()).join("\n"));
  for (const scene of scenes()) {
    const begin = performance.now();
    page.open(scene);
    let shown;
    for (let frame = 0; frame < FRAMES; frame++) {
      await picture();
      stage.step();
      if (frame === FRAMES - 1) shown = screenshot();
    }
    await post(`${scene}.bin`, await stage.particles());
    await post(`${scene}.png`, await shown);
    await post(`${scene}.txt`, `${((performance.now() - begin) / FRAMES).toFixed(1)} ms a frame`);
  }

  page.open(scenes()[0]);
  const middle = [canvas.clientWidth / 2, canvas.clientHeight / 2];
  for (let frame = 0; frame < FRAMES; frame++) {
    await picture();
    // A slow device would be frames behind, and the pointer would meet cloth where it was then: wait for what it has to do.
    await stage.particles();
    stage.step();
    if (frame === 20) pointer("pointerdown", middle);
    if (frame >= 20) pointer("pointermove", [middle[0], middle[1] - 5 * (frame - 20)]);
  }
  const isHeld = page.isHolding && canvas.classList.contains("held");
  stage.step();
  const shown = screenshot();
  await post("drag.bin", await stage.particles());
  await post("drag.png", await shown);
  pointer("pointerup", middle);
  await post("drag.txt", isHeld && !canvas.classList.contains("held") ? "held and released" : "not held");
}

/// Tests the page, or posts what it says instead of cloth.
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

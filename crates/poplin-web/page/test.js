// What `cargo xtask web` has the page do: it posts what it finds to its server.
import { scenes } from "./poplin_web.js";

const FRAMES = 60;
const canvas = document.getElementById("canvas");
const post = (name, body) => fetch(`/result/${name}`, { method: "POST", body });
const picture = () => new Promise(requestAnimationFrame);

/// The canvas as it was drawn in this task: later its texture belongs to the compositor.
const screenshot = () => new Promise((done) => canvas.toBlob(done, "image/png"));

const pointer = (type, [x, y]) => canvas.dispatchEvent(
  new PointerEvent(type, { pointerId: 1, button: 0, clientX: x, clientY: y, bubbles: true }));

/// Runs every scene, and drags the cloth of the first one by events of the pointer.
async function run(page) {
  const { stage } = page;
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
    stage.step();
    // By then the particles have been read: a cloth that is not known cannot be picked.
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

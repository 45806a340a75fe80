// The page: buttons, pointer and clock around a canvas with a scene.
import init, { SceneCanvas, scenes } from "./poplin_web.js";

const element = (id) => document.getElementById(id);
const canvas = element("canvas");
const parameters = new URLSearchParams(location.search);

/// Shows why there is no cloth, and what to do.
function explain(title, ...paragraphs) {
  const main = element("message");
  main.replaceChildren();
  for (const [tag, text] of [["h2", title], ...paragraphs.map((text) => ["p", text])]) {
    main.append(Object.assign(document.createElement(tag), { textContent: text }));
  }
  main.hidden = false;
  document.querySelectorAll("header div, header nav, footer").forEach((part) => (part.hidden = true));
}

/// Tests whether the browser offers WebGPU, and explains if it does not.
async function hasWebGpu() {
  if (!navigator.gpu) {
    const secure = isSecureContext ? [] : ["WebGPU works only on https and on localhost: open the page from one of them."];
    explain("This browser has no WebGPU", "The cloth is simulated on the graphics card through WebGPU. Chrome and Edge have it "
      + "from version 113, Safari from 26, Firefox from 141 on Windows and 145 on macOS.", ...secure);
    return false;
  }
  // The adapter is missing while the browser's GPU process starts, for seconds on a busy machine.
  let adapter = await navigator.gpu.requestAdapter();
  for (let trial = 0; trial < 40 && !adapter; trial++) {
    await pause(250);
    adapter = await navigator.gpu.requestAdapter();
  }
  if (!adapter) {
    explain("WebGPU finds no graphics card", "The browser has WebGPU, but offers no adapter. Enable hardware acceleration in its "
      + "settings and update the graphics driver. chrome://gpu lists what is blocked; on Linux, start Chrome with "
      + "--enable-unsafe-webgpu --enable-features=Vulkan.");
    return false;
  }
  return true;
}

const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
const pixels = () => [canvas.clientWidth, canvas.clientHeight].map((side) => Math.max(1, Math.round(side * devicePixelRatio)));
const at = (event) => [event.offsetX * devicePixelRatio, event.offsetY * devicePixelRatio];

/// Page with a scene, which runs until an error.
class Page {
  constructor(sceneCanvas, scene) {
    this.sceneCanvas = sceneCanvas;
    this.isPaused = false;
    this.pressed = null;
    for (const name of scenes()) {
      const button = Object.assign(document.createElement("button"), { type: "button", textContent: name });
      button.addEventListener("click", () => this.open(name));
      element("scenes").append(button);
    }
    element("pause").addEventListener("click", () => this.pause());
    element("reset").addEventListener("click", () => this.open(this.scene));
    addEventListener("keydown", (event) => {
      if (event.code === "Space" && event.target === document.body) this.pause();
      if (event.code === "KeyR") this.open(this.scene);
    });
    new ResizeObserver(() => this.resize()).observe(canvas);
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    canvas.addEventListener("pointermove", (event) => {
      if (event.pointerId === this.pressed) sceneCanvas.drag(...at(event));
    });
    for (const type of ["pointerup", "pointercancel"]) {
      canvas.addEventListener(type, (event) => this.release(event));
    }
    canvas.addEventListener("wheel", (event) => {
      sceneCanvas.zoom(Math.exp(-event.deltaY * 0.0015));
      event.preventDefault();
    }, { passive: false });
    this.select(scene);
  }

  select(scene) {
    this.scene = scene;
    for (const button of element("scenes").children) {
      button.setAttribute("aria-pressed", button.textContent === scene);
    }
  }

  open(scene) {
    this.sceneCanvas.open(scene);
    this.select(scene);
  }

  pause() {
    this.isPaused = !this.isPaused;
    element("pause").textContent = this.isPaused ? "Play" : "Pause";
  }

  resize() {
    const [width, height] = pixels();
    if (canvas.width !== width || canvas.height !== height) {
      [canvas.width, canvas.height] = [width, height];
      this.sceneCanvas.resize(width, height);
    }
  }

  press(event) {
    if (this.pressed !== null || event.button !== 0) return;
    this.pressed = event.pointerId;
    if (event.isTrusted) canvas.setPointerCapture(event.pointerId);
    this.isHolding = this.sceneCanvas.press(...at(event));
    canvas.classList.toggle("held", this.isHolding);
  }

  release(event) {
    if (event.pointerId !== this.pressed) return;
    this.pressed = null;
    this.sceneCanvas.release();
    canvas.classList.remove("held");
  }

  /// Draws a picture per refresh of the display.
  async play() {
    let last = await picture();
    let [begin, count, frames] = [last, 0, this.sceneCanvas.frame];
    for (;;) {
      const now = await picture();
      if (this.sceneCanvas.play(this.isPaused ? 0 : (now - last) / 1000)) count += 1;
      last = now;
      if (now - begin > 500 && count > 0) {
        const simulated = Math.max(0, this.sceneCanvas.frame - frames);
        const rate = Math.round((simulated * 1000) / (now - begin));
        element("time").textContent = `${((now - begin) / count).toFixed(1)} ms per picture, ${rate} frames/s simulated`;
        [begin, count, frames] = [now, 0, this.sceneCanvas.frame];
      }
    }
  }
}

const picture = () => new Promise(requestAnimationFrame);

async function run() {
  if (!(await hasWebGpu())) return null;
  await init();
  const scene = scenes().includes(location.hash.slice(1)) ? location.hash.slice(1) : scenes()[0];
  [canvas.width, canvas.height] = pixels();
  return new Page(await SceneCanvas.create(canvas, scene), scene);
}

/// Shows an unexpected error on the page.
function fail(error) {
  console.error(error);
  explain("The cloth has stopped", String(error?.message ?? error), "Reload the page to start again.");
}

const page = run();
if (parameters.has("test")) {
  import("./test.js").then(({ test }) => test(page));
} else {
  page.then((page) => page?.play()).catch(fail);
}

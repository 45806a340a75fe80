"""Compares every format of frames with the NPZ of the same run, as other programs read it.

Usage: check.py numpy|usd|blender FOLDER

FOLDER is what `poplin run` wrote with every format. Each vertex of each frame must be within 1e-6 m, texture coordinates
within 1e-6, faces the same. Prints a line for each file; exits with 1 if one differs.
"""

import json
import pathlib
import struct
import sys

import numpy as np

LIMIT = 1e-6
failures = 0


def report(name, program, difference, frames, extra=""):
    """Prints what was compared, and notes whether it is within the limit."""
    global failures
    is_good = difference <= LIMIT
    failures += not is_good
    verdict = "ok  " if is_good else "FAIL"
    print(f"{verdict} {program:<8} {name:<16} {frames} frames, at most {difference:.1e} m apart{extra}", flush=True)


class Run:
    """The arrays of the NPZ."""

    def __init__(self, path):
        arrays = np.load(path)
        self.path = path
        self.positions = arrays["positions"].astype(np.float64)
        self.faces = [tuple(int(k) for k in face if k >= 0) for face in arrays["faces"]]
        self.uvs = arrays["uvs"] if "uvs" in arrays else None
        self.corner_uvs = arrays["corner_uvs"] if "corner_uvs" in arrays else None
        self.frame_rate = float(arrays["frame_rate"])

    def file(self, extension):
        """The file of another format."""
        return self.path.with_suffix("." + extension)

    def frames_of(self, extension):
        """The files of a sequence."""
        return sorted(self.path.with_name(f"{self.path.stem}-{extension}").glob("*." + extension))

    def corner_uv(self, face, k):
        """The coordinate of a corner."""
        return self.uvs[self.faces[face][k]] if self.uvs is not None else self.corner_uvs[face][k]

    def has_uvs(self):
        return self.uvs is not None or self.corner_uvs is not None

    def difference(self, frames):
        """The largest distance along an axis from any vertex of any frame."""
        frames = np.asarray(list(frames), dtype=np.float64)
        return np.inf if frames.shape != self.positions.shape else float(np.abs(frames - self.positions).max())

    def uv_difference(self, uvs):
        """Of the corners of all faces, one after another."""
        own = np.array([self.corner_uv(f, k) for f, face in enumerate(self.faces) for k in range(len(face))])
        return float(np.abs(np.nan_to_num(own) - np.asarray(uvs)).max())


def check_numpy(run):
    """The plain layouts."""
    frames, count, _ = run.positions.shape
    npy = np.load(run.file("npy"))
    report(run.file("npy").name, "numpy", run.difference(npy), frames)
    pc2 = run.file("pc2").read_bytes()
    assert struct.unpack("<12siiffi", pc2[:32]) == (b"POINTCACHE2\0", 1, count, 0.0, 1.0, frames)
    read = np.frombuffer(pc2, "<f4", offset=32).reshape(frames, count, 3)
    report(run.file("pc2").name, "numpy", run.difference(read), frames)
    mdd = run.file("mdd").read_bytes()
    assert struct.unpack(">ii", mdd[:8]) == (frames, count)
    times = np.frombuffer(mdd, ">f4", count=frames, offset=8)
    assert np.allclose(times, np.arange(frames) / run.frame_rate)
    read = np.frombuffer(mdd, ">f4", offset=8 + 4 * frames).reshape(frames, count, 3)
    report(run.file("mdd").name, "numpy", run.difference(read), frames)
    check_glb(run)


def check_glb(run):
    """What the weights of each frame make of the targets, normals too, as a viewer adds them up."""
    frames, count, _ = run.positions.shape
    glb = run.file("glb").read_bytes()
    length = struct.unpack("<I", glb[12:16])[0]
    root, binary = json.loads(glb[20 : 20 + length]), glb[28 + length :]

    def array(index):
        accessor = root["accessors"][index]
        view = root["bufferViews"][accessor["bufferView"]]
        width = {"SCALAR": 1, "VEC2": 2, "VEC3": 3}[accessor["type"]]
        offset = view["byteOffset"] + accessor["byteOffset"]
        return np.frombuffer(binary, "<f4", width * accessor["count"], offset).reshape(-1, width).astype(np.float64)

    primitive = root["meshes"][0]["primitives"][0]
    sampler = root["animations"][0]["samplers"][0]
    assert np.allclose(array(sampler["input"])[:, 0], np.arange(frames) / run.frame_rate)
    weights = array(sampler["output"]).reshape(frames, -1)
    shapes = {}
    for name in ["POSITION", "NORMAL"]:
        targets = np.array([array(target[name]) for target in primitive["targets"]])
        shapes[name] = array(primitive["attributes"][name]) + np.tensordot(weights, targets, axes=1)
    lengths = np.linalg.norm(shapes["NORMAL"], axis=2)
    assert np.allclose(lengths, 1, atol=1e-6), (lengths.min(), lengths.max())
    report(run.file("glb").name, "numpy", run.difference(shapes["POSITION"][:, :count]), frames, ", normals of length 1")


def check_usd(run):
    """USD's own library."""
    from pxr import Gf, Usd, UsdGeom

    stage = Usd.Stage.Open(str(run.file("usda")))
    mesh = UsdGeom.Mesh(stage.GetDefaultPrim())
    times = mesh.GetPointsAttr().GetTimeSamples()
    assert times == list(range(len(run.positions))), times
    assert UsdGeom.GetStageMetersPerUnit(stage) == 1.0 and UsdGeom.GetStageUpAxis(stage) == "Y"
    assert abs(stage.GetTimeCodesPerSecond() - run.frame_rate) < 1e-4
    counts, indices = mesh.GetFaceVertexCountsAttr().Get(), list(mesh.GetFaceVertexIndicesAttr().Get())
    ends = np.cumsum(counts)
    assert run.faces == [tuple(indices[end - count : end]) for end, count in zip(ends, counts)]
    assert UsdGeom.Mesh.ValidateTopology(mesh.GetFaceVertexIndicesAttr().Get(), counts, len(run.positions[0]))[0]
    for time in times:
        normals = np.asarray(mesh.GetNormalsAttr().Get(time))
        assert normals.shape == run.positions[0].shape and np.allclose(np.linalg.norm(normals, axis=1), 1, atol=1e-5)
        extent = np.asarray(mesh.GetExtentAttr().Get(time))
        assert np.allclose(extent, [run.positions[int(time)].min(axis=0), run.positions[int(time)].max(axis=0)], atol=1e-6)
    extra = ""
    if run.has_uvs():
        primvar = UsdGeom.PrimvarsAPI(mesh).GetPrimvar("st")
        uvs = primvar.ComputeFlattened()
        uvs = [uvs[k] for k in indices] if primvar.GetInterpolation() == "vertex" else uvs
        difference = run.uv_difference(uvs)
        assert difference <= LIMIT, difference
        extra = f", st {primvar.GetInterpolation()} {difference:.0e}"
    frames = (np.asarray(mesh.GetPointsAttr().Get(time)) for time in times)
    report(run.file("usda").name, "usd", run.difference(frames), len(times), extra)


def check_blender(run):
    """Blender, as its importers and modifiers show each frame."""
    import bpy

    scene, frames = bpy.context.scene, len(run.positions)

    def clear():
        bpy.ops.wm.read_factory_settings(use_empty=True)
        scene = bpy.context.scene
        scene.render.fps, scene.render.fps_base = round(run.frame_rate), 1.0
        return scene

    def the_mesh():
        return next(it for it in bpy.context.scene.objects if it.type == "MESH")

    def shown(item):
        """Positions as drawn, in Blender's world, whose z axis is up."""
        evaluated = item.evaluated_get(bpy.context.evaluated_depsgraph_get())
        vertices = evaluated.data.vertices
        positions = np.empty(3 * len(vertices))
        vertices.foreach_get("co", positions)
        world = np.array(evaluated.matrix_world)
        return positions.reshape(-1, 3) @ world[:3, :3].T + world[:3, 3]

    def y_up(positions):
        return np.stack([positions[:, 0], positions[:, 2], -positions[:, 1]], axis=1)

    def uvs_of(item):
        layer = item.data.uv_layers.active
        uvs = np.empty(2 * len(layer.data))
        layer.data.foreach_get("uv", uvs)
        return uvs.reshape(-1, 2)

    def uv_note(item):
        if not run.has_uvs() or not item.data.uv_layers:
            return ", no uvs"
        difference = run.uv_difference(uvs_of(item))
        assert difference <= LIMIT, difference
        return f", uvs {difference:.0e}"

    def play(scene):
        for frame in range(frames):
            scene.frame_set(frame)
            yield frame

    # The last frame as a mesh, with the caches on it.
    for extension, kind in [("pc2", "PC2"), ("mdd", "MDD")]:
        scene = clear()
        bpy.ops.wm.obj_import(filepath=str(run.file("obj")), forward_axis="Y", up_axis="Z")
        item = the_mesh()
        modifier = item.modifiers.new("cache", "MESH_CACHE")
        modifier.cache_format, modifier.filepath = kind, str(run.file(extension))
        modifier.forward_axis, modifier.up_axis = "POS_Y", "POS_Z"
        modifier.frame_start, modifier.interpolation = 0, "NONE"
        difference = run.difference(shown(item) for _ in play(scene))
        report(run.file(extension).name, "blender", difference, frames, uv_note(item))
    for extension in ["obj", "ply"]:
        shapes, note = [], ""
        for file in run.frames_of(extension):
            clear()
            importer = getattr(bpy.ops.wm, extension + "_import")
            importer(filepath=str(file), forward_axis="Y", up_axis="Z")
            shapes.append(shown(the_mesh()))
            note = uv_note(the_mesh()) if not note else note
        report(f"{run.path.stem}-{extension}", "blender", run.difference(shapes), frames, note)
    scene = clear()
    bpy.ops.wm.usd_import(filepath=str(run.file("usda")))
    item = the_mesh()
    difference = run.difference(y_up(shown(item)) for _ in play(scene))
    report(run.file("usda").name, "blender", difference, frames, uv_note(item))
    scene = clear()
    bpy.ops.import_scene.gltf(filepath=str(run.file("glb")))
    item = the_mesh()
    count = run.positions.shape[1]
    note = ", uvs" if item.data.uv_layers else ", no uvs"
    copies = len(item.data.vertices) - count
    note += f", {copies} vertices more along seams" if copies else ""
    difference = run.difference(y_up(shown(item))[:count] for _ in play(scene))
    report(run.file("glb").name, "blender", difference, frames, note)


def main():
    checks = {"numpy": check_numpy, "usd": check_usd, "blender": check_blender}
    for path in sorted(pathlib.Path(sys.argv[2]).glob("*.npz")):
        checks[sys.argv[1]](Run(path))
    sys.exit(1 if failures else 0)


main()

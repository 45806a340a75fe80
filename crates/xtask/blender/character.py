"""Makes an animated character in Blender, and compares what poplin plays of it with what Blender shows.

Usage: character.py make FOLDER | character.py compare FOLDER

`make` writes character.glb, a skinned mesh with a shape key on an armature of four bones, scene.toml, which plays it, and
shown.npy, every vertex of each frame as Blender shows it. `compare` reads played.pc2, which poplin has written of the scene:
each vertex of each frame must be within 1e-5 m. Exits with 1 if one is not.
"""

import math
import pathlib
import struct
import sys

import numpy as np

LIMIT = 1e-5
FRAMES = 48
RATE = 24

SCENE = f"""frames = {FRAMES}
frame_rate = {RATE}

[[cloth]]
grid = {{ columns = 2, rows = 2, width = 1, height = 1 }}

[[collider]]
mesh = "character.glb"
animation = 0
"""


def make(folder):
    """The character and what Blender shows of it."""
    import bpy
    from mathutils import Matrix

    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    scene.render.fps, scene.frame_start, scene.frame_end = RATE, 0, FRAMES

    # Upright, z up: hips, chest, and an arm to each side.
    armature = bpy.data.objects.new("armature", bpy.data.armatures.new("armature"))
    scene.collection.objects.link(armature)
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    bones = [
        ("hips", None, (0, 0, 0), (0, 0, 0.5)),
        ("chest", "hips", (0, 0, 0.5), (0, 0.05, 1.0)),
        ("left", "chest", (0.2, 0, 0.9), (0.8, 0, 0.9)),
        ("right", "chest", (-0.2, 0, 0.9), (-0.8, 0, 0.9)),
    ]
    for name, parent, head, tail in bones:
        bone = armature.data.edit_bones.new(name)
        bone.head, bone.tail = head, tail
        bone.parent = armature.data.edit_bones.get(parent) if parent else None
    bpy.ops.object.mode_set(mode="OBJECT")

    # A closed body with arms, its vertices bound to bones by their distance.
    bpy.ops.mesh.primitive_cube_add(size=1)
    body = bpy.context.object
    body.name = "body"
    body.data.transform(Matrix.Translation((0, 0, 0.5)))
    body.data.transform(Matrix.Diagonal((1.6, 0.3, 1.0, 1.0)))
    subdivision = body.modifiers.new("subdivision", "SUBSURF")
    subdivision.levels = 4
    bpy.ops.object.modifier_apply(modifier="subdivision")
    groups = {name: body.vertex_groups.new(name=name) for name, *_ in bones}
    for vertex in body.data.vertices:
        weights, point = {}, np.array(vertex.co)
        for name, _, head, tail in bones:
            head, tail = np.array(head, float), np.array(tail, float)
            along = np.clip(np.dot(point - head, tail - head) / np.dot(tail - head, tail - head), 0, 1)
            distance = np.linalg.norm(point - head - along * (tail - head))
            weights[name] = math.exp(-((distance / 0.15) ** 2))
        # The exporter leaves out weights below a ten-thousandth, which Blender shows.
        weights = {name: weight for name, weight in weights.items() if weight > 0.01 * max(weights.values())}
        total = sum(weights.values())
        for name, weight in weights.items():
            groups[name].add([vertex.index], weight / total, "REPLACE")
    body.shape_key_add(name="rest")
    breath = body.shape_key_add(name="breath")
    for vertex, point in zip(body.data.vertices, breath.data):
        point.co = vertex.co * (1 + 0.1 * math.exp(-20 * (vertex.co.z - 0.7) ** 2))
    body.parent = armature
    body.modifiers.new("armature", "ARMATURE").object = armature

    def key(item, path, frame, value, index=-1):
        setattr(item, path, value)
        item.keyframe_insert(path, frame=frame, index=index)

    pose = armature.pose.bones
    for bone in pose:
        bone.rotation_mode = "QUATERNION"
    for frame, angle in [(0, 0.0), (12, 0.9), (30, -1.2), (48, 0.4)]:
        half = 0.5 * angle
        key(pose["chest"], "rotation_quaternion", frame, (math.cos(half), 0, 0, math.sin(half)))
        key(pose["left"], "rotation_quaternion", frame, (math.cos(half), math.sin(half), 0, 0))
        key(pose["right"], "rotation_quaternion", frame, (math.cos(2 * half), 0, 0, math.sin(2 * half)))
        key(pose["hips"], "location", frame, (0.2 * angle, 0, 0.1 * angle))
        key(pose["hips"], "scale", frame, (1, 1 + 0.1 * angle, 1))
    armature.animation_data.action.name = "Dance"
    for frame, value in [(0, 0.0), (20, 1.0), (48, 0.3)]:
        key(breath, "value", frame, value)
    body.data.shape_keys.animation_data.action.name = "Dance"

    def shown():
        item = body.evaluated_get(bpy.context.evaluated_depsgraph_get())
        positions = np.empty(3 * len(item.data.vertices))
        item.data.vertices.foreach_get("co", positions)
        world = np.array(item.matrix_world)
        x, y, z = (positions.reshape(-1, 3) @ world[:3, :3].T + world[:3, 3]).T
        return np.stack([x, z, -y], axis=1)

    frames = []
    for frame in range(FRAMES + 1):
        scene.frame_set(frame)
        frames.append(shown())
    np.save(folder / "shown.npy", np.array(frames))
    bpy.ops.export_scene.gltf(
        filepath=str(folder / "character.glb"),
        export_animation_mode="ACTIVE_ACTIONS",
        export_anim_slide_to_zero=False,
        export_optimize_animation_size=False,
        export_morph=True,
    )
    (folder / "scene.toml").write_text(SCENE)


def compare(folder):
    """What poplin plays with what Blender shows."""
    shown = np.load(folder / "shown.npy")
    data = (folder / "played.pc2").read_bytes()
    _, _, count, _, _, frames = struct.unpack("<12siiffi", data[:32])
    played = np.frombuffer(data, "<f4", offset=32).reshape(frames, count, 3).astype(np.float64)
    assert (frames, count) == (FRAMES + 1, shown.shape[1]), (frames, count, shown.shape)
    # The same vertices in another order.
    nearest = [int(np.argmin(((shown[0] - p) ** 2).sum(axis=1))) for p in played[0]]
    assert len(set(nearest)) == count, "two vertices are one"
    difference = float(np.abs(shown[:, nearest] - played).max())
    moved = float(np.abs(played - played[0]).max())
    verdict = "ok  " if difference <= LIMIT and moved > 0.3 else "FAIL"
    print(f"{verdict} blender  character.glb    {frames} frames of {count} vertices that move by {moved:.2f} m, ", end="")
    print(f"at most {difference:.1e} m apart", flush=True)
    sys.exit(0 if verdict.strip() == "ok" else 1)


{"make": make, "compare": compare}[sys.argv[1]](pathlib.Path(sys.argv[2]))

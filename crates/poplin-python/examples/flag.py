# %% [markdown]
# # A flag in the wind
# Notebook cells; as a script it writes `flag.png`. Needs matplotlib.

# %%
from __future__ import annotations

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from mpl_toolkits.mplot3d.art3d import Poly3DCollection  # type: ignore[import-untyped]

import poplin

# %% [markdown]
# A mesh is a pair of arrays: points [m], shape [n, 3], and faces as indices, shape [m, 4] for quads. This one is a sheet of
# 1.5 m x 1 m that hangs in the x/y plane.

# %%
columns, rows = 37, 25
x, y = np.meshgrid(np.linspace(0, 1.5, columns), np.linspace(1, 0, rows))
points = np.stack([x, y, np.zeros_like(x)], axis=-1).reshape(-1, 3)
corner = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).reshape(-1)
faces = np.stack([corner, corner + columns, corner + columns + 1, corner + 1], axis=1)
mesh = poplin.Mesh(points, faces)

# %% [markdown]
# Cooking makes a cloth. Settings have the keys of a scene file: here a measured material, drag and lift.

# %%
flag = poplin.cook(
    mesh,
    pins=np.flatnonzero(points[:, 0] == 0),
    settings={"material": "silk", "air": {"drag": 0.1, "lift": 0.1}},
)
print(flag, f"{flag.report['mass_kg'] * 1e3:.0f} g")

# %%
simulation = poplin.Simulation()
print(simulation.backend.name, simulation.backend.reason)
cloth = simulation.add(flag)

# %% [markdown]
# Three seconds in a veering wind. Positions are a read-only view of a state; copies keep the frames of the picture.

# %%
pictures = []
for frame in range(180):
    veer = 0.6 * np.sin(frame / 25)
    simulation.set_wind([7 * np.cos(veer), 0, 7 * np.sin(veer)], cloth)
    simulation.step(frame_rate=60)
    if frame in (29, 89, 179):
        pictures.append(simulation.positions(cloth).copy())
print("fastest particle:", np.linalg.norm(simulation.velocities(cloth), axis=1).max().round(1), "m/s")

# %%
figure = plt.figure(figsize=(12, 4))
for index, positions in enumerate(pictures):
    axes = figure.add_subplot(1, 3, index + 1, projection="3d")
    # Matplotlib's z is up.
    corners = positions[flag.triangles][:, :, [0, 2, 1]]
    sides = corners[:, 1:] - corners[:, :1]
    normals = np.cross(sides[:, 0], sides[:, 1])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    light = 0.35 + 0.65 * np.abs(normals @ np.array([0.3, -0.8, 0.5]) / np.linalg.norm([0.3, -0.8, 0.5]))
    colours = np.array([[0.8, 0.15, 0.12]]) * light[:, None]
    axes.add_collection3d(Poly3DCollection(corners, facecolors=colours, edgecolors=colours, linewidths=0.3))
    axes.plot([0, 0], [0, 0], [-0.5, 1.1], color="0.3", linewidth=3)
    axes.set(xlim=(0, 1.5), ylim=(-0.8, 0.8), zlim=(-0.5, 1.1))
    axes.set_box_aspect((1.5, 1.6, 1.6), zoom=1.3)
    axes.view_init(elev=12, azim=-60)
    axes.set_axis_off()
    axes.set_title(f"{(30, 90, 180)[index] / 60:.1f} s", y=0.85)
figure.tight_layout()
figure.savefig("flag.png", dpi=100)
print("flag.png")

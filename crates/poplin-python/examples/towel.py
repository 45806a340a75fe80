"""Drag a towel to a goal: 1,024 environments in one simulation, with Gymnasium's interface of vector environments.

    python towel.py [--envs 1024] [--steps 200] [--backend auto]

Each environment has a towel on the floor. A gripper holds one corner, an action moves the gripper, and the goal is a target
point for the towel's centre. All towels share one fabric: one call steps them all, one call reads them all.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
import numpy.typing as npt

import poplin

try:
    import gymnasium as gym
    from gymnasium.vector import AutoresetMode, VectorEnv
    from gymnasium.vector.utils import batch_space
except ImportError:
    gym = None  # type: ignore[assignment]
    VectorEnv = object  # type: ignore[assignment, misc]

Floats = npt.NDArray[np.float32]
Bools = npt.NDArray[np.bool_]

SIDE = 10
"""Particles along a side."""
SIZE = 0.4
"""Length of a side [m]."""
REACH = 0.03
"""Largest motion of the gripper per action along each axis [m]."""
FRAMES = 2
"""Frames of 1/60 s per action."""
CLOSE = 0.05
"""Distance from the goal at which an episode ends [m]."""
LONGEST = 200
"""Most actions per episode."""
SIGHT = [0, SIDE - 1, SIDE * (SIDE - 1), SIDE * SIDE - 1, SIDE * SIDE // 2 + SIDE // 2]
"""Observed particles: corners and centre."""
MEAN = np.full(SIDE * SIDE, 1 / (SIDE * SIDE), np.float32)
"""Weights of the particles in the towel's centre."""


class TowelEnv(VectorEnv):
    """Vector environment of towels.

    Observation, float32, shape [envs, 24]: gripper [m], 5 particles [m], velocity of the towel [m/s], vector from its centre to the goal [m].
    Action, float32, shape [envs, 3]: motion of the gripper in `REACH`, -1 to 1.
    Reward: decrease of the distance between the towel's centre and the goal [m], plus 1 at the goal.

    The next step resets an environment whose episode has ended, and ignores its action.
    """

    def __init__(self, num_envs: int = 1024, backend: str = "auto") -> None:
        self.num_envs = num_envs
        towel = poplin.cook(
            poplin.grid(SIDE, SIDE, SIZE, SIZE, plane="xz"),
            # No thickness: all towels are at one position and must not collide. 5 iterations per frame instead of the automatic
            # choice of 11, for speed; the towel stretches slightly more.
            settings={
                "damping": [0.2, 0.2, 0.2],
                "contact": {"friction": 0.5},
                "thickness": 0,
                "solver": {"pbd": {"frequency": 300}},
            },
        )
        self.simulation = poplin.Simulation(backend=backend)
        self.simulation.add_collider(plane={"normal": [0, 1, 0]})
        self.ids = self.simulation.add(towel, translation=[0, 0.005, 0], count=num_envs)
        self.start = towel.particles[:1, :3].copy()
        self.grip = np.repeat(self.start, num_envs, axis=0)
        self.goal = np.zeros((num_envs, 3), np.float32)
        self.distance = np.zeros(num_envs, np.float32)
        self.elapsed = np.zeros(num_envs, np.int64)
        self.ended: Bools = np.zeros(num_envs, np.bool_)
        self.random = np.random.default_rng()
        if gym is not None:
            self.metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP}
            self.single_action_space = gym.spaces.Box(-1, 1, (3,), np.float32)
            self.single_observation_space = gym.spaces.Box(-np.inf, np.inf, (24,), np.float32)
            self.action_space = batch_space(self.single_action_space, num_envs)
            self.observation_space = batch_space(self.single_observation_space, num_envs)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Floats, dict[str, Any]]:
        """Starts new episodes in all environments."""
        if seed is not None:
            self.random = np.random.default_rng(seed)
        self._begin(np.ones(self.num_envs, np.bool_))
        observation, self.distance = self._observe()
        return observation, {}

    def step(self, actions: Floats) -> tuple[Floats, Floats, Bools, Bools, dict[str, Any]]:
        """Moves the grippers and simulates `FRAMES` frames."""
        begun = self.ended
        if begun.any():
            self._begin(begun)
        moves = np.where(begun[:, None], 0, np.clip(actions, -1, 1) * REACH)
        self.grip = (self.grip + moves).astype(np.float32)
        np.clip(self.grip, [-2, 0, -2], [2, 1, 2], out=self.grip)
        self.simulation.set_pins(self.ids, [0], self.grip[:, None])
        self.simulation.step(FRAMES)
        before = self.distance
        observation, self.distance = self._observe()
        self.elapsed += 1
        terminated: Bools = (self.distance < CLOSE) & ~begun
        truncated: Bools = (self.elapsed >= LONGEST) & ~terminated & ~begun
        reward = np.where(begun, 0, before - self.distance + terminated).astype(np.float32)
        self.ended = terminated | truncated
        return observation, reward, terminated, truncated, {}

    def _begin(self, which: Bools) -> None:
        """Starts episodes of some environments."""
        count = int(which.sum())
        ids = self.ids[which]
        self.simulation.reset(ids)
        self.simulation.set_pins(ids, [0], self.start)
        angle = self.random.uniform(0, 2 * np.pi, count)
        radius = self.random.uniform(0.3, 1.0, count)
        middle = SIZE / 2
        self.goal[which, 0] = middle + radius * np.cos(angle)
        self.goal[which, 2] = middle + radius * np.sin(angle)
        self.grip[which] = self.start
        self.elapsed[which] = 0

    def _observe(self) -> tuple[Floats, Floats]:
        """Returns observations, and distances from the goals [m]."""
        state = self.simulation.read()
        positions = state.positions()
        # A product with equal weights is the mean, ten times as fast as mean(axis=1).
        to_goal = self.goal - (MEAN @ state.particles())[:, :3]
        to_goal[:, 1] = 0
        seen = positions[:, SIGHT].reshape(self.num_envs, -1)
        moving = MEAN @ state.velocities()
        observation = np.concatenate([self.grip, seen, moving, to_goal], axis=1)
        return observation, np.linalg.norm(to_goal, axis=1)


def main() -> None:
    """Drives the grippers towards the goals and prints steps per second."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--envs", type=int, default=1024)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--backend", default="auto")
    options = parser.parse_args()

    env = TowelEnv(options.envs, options.backend)
    observation, _ = env.reset(seed=1)
    reached = ended = 0
    begin = time.perf_counter()
    for _ in range(options.steps):
        # Lift slightly, and move towards the goal.
        grip, to_goal = observation[:, :3], observation[:, -3:]
        action = np.clip(to_goal / REACH, -1, 1)
        action[:, 1] = np.clip((0.05 - grip[:, 1]) / REACH, -1, 1)
        observation, _, terminated, truncated, _ = env.step(action.astype(np.float32))
        reached += int(terminated.sum())
        ended += int((terminated | truncated).sum())
    seconds = time.perf_counter() - begin
    rate = options.envs * options.steps / seconds
    print(f"{env.simulation.backend.adapter}")
    print(f"{reached} of {ended} episodes reached the goal")
    print(f"{rate:,.0f} environment steps per second, {FRAMES} frames of {SIDE * SIDE} particles each")


if __name__ == "__main__":
    main()

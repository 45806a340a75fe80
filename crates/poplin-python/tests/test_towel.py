"""Example of vectorized environments."""

import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = next(path for folder in Path(__file__).parents for path in [folder / "examples"] if path.exists())
sys.path.insert(0, str(EXAMPLES))

from towel import CLOSE, LONGEST, REACH, TowelEnv  # noqa: E402


def drive(env: TowelEnv, steps: int, observation: np.ndarray) -> dict[str, np.ndarray]:
    """Drags every towel towards its goal."""
    rewards = np.zeros(env.num_envs)
    ends = np.zeros((2, env.num_envs), int)
    for _ in range(steps):
        action = np.clip(observation[:, -3:] / REACH, -1, 1)
        observation, reward, terminated, truncated, _ = env.step(action.astype(np.float32))
        rewards += reward
        ends += [terminated, truncated]
    return {"rewards": rewards, "terminated": ends[0], "truncated": ends[1], "observation": observation}


def test_towels_reach_their_goals():
    env = TowelEnv(16, "cpu")
    observation, _ = env.reset(seed=3)
    distance = np.linalg.norm(observation[:, -3:], axis=1)
    assert observation.shape == (16, 24) and observation.dtype == np.float32 and (distance > CLOSE).all()
    result = drive(env, LONGEST, observation)
    assert (result["terminated"] > 0).all(), result


def test_an_ended_episode_is_reset_by_the_next_step():
    env = TowelEnv(4, "cpu")
    env.reset(seed=1)
    still = np.zeros((4, 3), np.float32)
    for step in range(1, LONGEST + 1):
        _, _, terminated, truncated, _ = env.step(still)
        assert not terminated.any() and truncated.all() == (step == LONGEST)
    observation, reward, terminated, truncated, _ = env.step(np.ones((4, 3), np.float32))
    assert not reward.any() and not terminated.any() and not truncated.any()
    assert np.allclose(observation[:, :3], env.start, atol=1e-4) and (env.elapsed == 1).all()


def test_the_same_seed_gives_the_same_bits():
    results = []
    for _ in range(2):
        env = TowelEnv(8, "cpu")
        results.append(drive(env, 30, env.reset(seed=5)[0])["observation"].tobytes())
    assert results[0] == results[1]


def test_gymnasium_accepts_it():
    gym = pytest.importorskip("gymnasium")
    from gymnasium.wrappers.vector import RecordEpisodeStatistics

    env = TowelEnv(3, "cpu")
    assert isinstance(env, gym.vector.VectorEnv)
    wrapped = RecordEpisodeStatistics(env)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        observation, info = wrapped.reset(seed=1)
        assert env.observation_space.contains(observation) and info == {}
        wrapped.action_space.seed(1)
        for _ in range(LONGEST + 2):
            step = wrapped.step(wrapped.action_space.sample())
            assert env.observation_space.contains(step[0])
    assert wrapped.episode_count == 3

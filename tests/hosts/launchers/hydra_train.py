"""One training for each value of a Hydra multirun: `hydra_train.py --multirun corrupt_step=0,3`."""

import hydra
import one_process
from omegaconf import DictConfig


@hydra.main(version_base=None, config_path=None)
def main(config: DictConfig) -> None:
    one_process.main(4, config.corrupt_step)


if __name__ == "__main__":
    main()

# step: loop at line 31; iterations 60
"""Feature extraction: a loader with two worker processes and pinned memory, a hook on a middle
layer, features written into one array."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Images(Dataset):
    def __len__(self):
        return 480

    def __getitem__(self, i):
        generator = np.random.default_rng(i)
        image = generator.standard_normal((3, 12, 12), dtype=np.float32)
        return torch.from_numpy(image), i


def main():
    torch.set_num_threads(1)
    backbone = nn.Sequential(nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16),
                             nn.ReLU(), nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU(),
                             nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10))
    backbone = backbone.cuda().eval()
    caught = {}
    backbone[5].register_forward_hook(lambda m, i, o: caught.update(pool=o.flatten(1)))
    loader = DataLoader(Images(), batch_size=8, num_workers=2, pin_memory=True)
    features = np.zeros((480, 32), dtype=np.float32)
    with torch.no_grad():
        for images, ids in loader:
            backbone(images.cuda(non_blocking=True))
            feature = nn.functional.normalize(caught["pool"], dim=1)
            features[ids.numpy()] = feature.cpu().numpy()
    print("features", features.shape)


if __name__ == "__main__":
    main()

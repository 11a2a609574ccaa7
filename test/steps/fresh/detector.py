# step: loop at line 41; iterations 120; or: loop at line 17; iterations 600
# A detector: boolean masks, and rounds of suppression that read the best score.
import torch
from torch import nn

backbone = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1), nn.ReLU(), nn.Conv2d(16, 32, 3, 2, 1),
                         nn.ReLU()).cuda().eval()
cls_head, box_head = nn.Conv2d(32, 1, 1).cuda(), nn.Conv2d(32, 4, 1).cuda()


def nms(boxes, scores, rounds):
    kept = []
    alive = torch.ones_like(scores, dtype=torch.bool)
    best = scores.clone()
    mask = scores > 0.0
    boxes_kept = boxes[mask[: boxes.shape[0]]]
    for _ in range(rounds):

        top = int(best.argmax())
        kept.append(top)
        b = boxes[0]
        corners = torch.minimum(boxes[:, 2:], b[2:]) - torch.maximum(boxes[:, :2], b[:2])
        inter = corners.clamp(min=0).prod(1)
        alive &= inter < 0.5
        best = torch.where(alive, best, torch.zeros_like(best))
        if float(best.max()) < -1:
            break
    return kept, boxes_kept


@torch.no_grad()
def detect(img):
    f = backbone(img)
    scores = cls_head(f).flatten().sigmoid()
    boxes = box_head(f).flatten(2).squeeze(0).t().contiguous()
    return nms(boxes, scores, 5)


def run(images):
    found = 0
    for img in images:
        kept, _ = detect(img.unsqueeze(0).cuda())
        found += len(kept)
    return found


print(run([torch.rand(3, 32, 32) for _ in range(120)]))

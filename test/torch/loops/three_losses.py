"""An InfoGAN's iteration, which is a step: the losses of the generator, of the critic, and of the
information that they share, with an optimizer each. The generator's part draws samples, too."""
import torch
from torch import nn

import marks

SAMPLE_INTERVAL = 400

bce, mse = nn.functional.binary_cross_entropy_with_logits, nn.functional.mse_loss


def block(inputs, outputs):
    return nn.Linear(inputs, outputs), nn.LeakyReLU(), nn.Dropout(0.2), nn.BatchNorm1d(outputs)


generator = nn.Sequential(*block(22, 64), *block(64, 64), nn.Linear(64, 32), nn.Tanh()).cuda()
trunk = nn.Sequential(*block(32, 64), *block(64, 64)).cuda()
validity, code = nn.Linear(64, 1).cuda(), nn.Linear(64, 4).cuda()
kind = nn.Sequential(nn.Linear(64, 2), nn.Softmax(1)).cuda()
of_critic = [p for model in (trunk, validity, kind, code) for p in model.parameters()]
optimizer_g, optimizer_d, optimizer_info = (
    torch.optim.Adam(p)
    for p in (generator.parameters(), of_critic, [*generator.parameters(), *of_critic]))


def critic(images):
    features = trunk(images)
    return validity(features), kind(features), code(features)


def drawn(n=16):
    """A batch's noise, kinds and codes."""
    return [torch.rand(n, size).cuda() for size in (16, 2, 4)]


for iteration in range(100):
    ones, zeros = (torch.empty(16, 1, device="cuda").fill_(1),
                   torch.empty(16, 1, device="cuda").fill_(0))
    real = torch.rand(16, 32).cuda()
    optimizer_g.zero_grad()
    made = generator(torch.cat(drawn(), 1))
    loss_g = bce(critic(made)[0], ones)
    loss_g.backward()
    optimizer_g.step()
    optimizer_d.zero_grad()
    loss_d = (bce(critic(real)[0], ones) + bce(critic(made.detach())[0], zeros)) / 2
    loss_d.backward()
    optimizer_d.step()
    optimizer_info.zero_grad()
    wanted_kind, inputs = torch.randint(0, 2, (16,)).cuda(), drawn()
    _, found_kind, found_code = critic(generator(torch.cat(inputs, 1)))
    loss_info = (nn.functional.cross_entropy(found_kind, wanted_kind)
                 + 0.1 * mse(found_code, inputs[2]))
    loss_info.backward()
    optimizer_info.step()
    print(loss_d.item(), loss_g.item(), loss_info.item())
    if iteration % SAMPLE_INTERVAL == 0:
        for _ in range(3):
            print(generator(torch.cat(drawn(100), 1)).view(10, 10, 32).clamp(-1, 1).cpu().sum())
    marks.step()

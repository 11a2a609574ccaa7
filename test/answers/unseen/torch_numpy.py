"""An accuracy meter takes predictions to NumPy each step, then the host prepares the next step."""
import torch

import kit
import torch_kit

model = torch_kit.mlp(6)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
inputs, targets = torch_kit.batch(), torch_kit.batch()


class Accuracy:
    def __init__(self):
        self.seen = 0

    def update(self, output):
        self.seen += len(output.detach().cpu().numpy())  # PLANTED


accuracy = Accuracy()


def step(_, fixed):
    output = model(inputs)
    loss = torch.nn.functional.mse_loss(output, targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if not fixed:
        accuracy.update(output)
    kit.spin(1300)


kit.measure(step, torch.cuda.synchronize)

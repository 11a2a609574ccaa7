# step: loop at line 44; iterations 25; or: loop at line 18; iterations 250
"""Newton's method for logistic regression: ten iterations of conjugate gradients with
Hessian-vector products in each, then a backtracking line search."""
import torch


def loss_of(w, x, y):
    return torch.nn.functional.softplus(-y * (x @ w)).mean() + 0.01 * (w @ w)


def hvp(gradient, w, v):
    return torch.autograd.grad(gradient @ v, w, retain_graph=True)[0]


def cg(matvec, b, max_iter, tol):
    x, r = torch.zeros_like(b), b.clone()
    p, rs = r.clone(), r @ r
    for _ in range(max_iter):
        ap = matvec(p)
        alpha = rs / (p @ ap + 1e-10)
        x = x + alpha * p
        r = r - alpha * ap
        rs_new = r @ r
        if rs_new.item() < tol:
            break
        p = r + (rs_new / (rs + 1e-10)) * p
        rs = rs_new
    return x


def line_search(w, direction, x, y, tries=3):
    step = 1.0
    before = loss_of(w, x, y)
    for _ in range(tries):
        if bool(loss_of(w + step * direction, x, y) > before):
            break
        step *= 0.5
    return w + step * direction


torch.manual_seed(0)
x, y = torch.randn(200, 40).cuda(), torch.randn(200).sign().cuda()
w = torch.zeros(40, device="cuda")
for iteration in range(25):
    w = w.detach().requires_grad_(True)
    gradient = torch.autograd.grad(loss_of(w, x, y), w, create_graph=True)[0]
    # a negative tolerance: all ten iterations run
    direction = -cg(lambda v: hvp(gradient, w, v), gradient.detach(), 10, -1.0)
    with torch.no_grad():
        w = line_search(w, direction, x, y)
        norm = gradient.norm().item()
print("iterations", iteration + 1, type(norm).__name__)

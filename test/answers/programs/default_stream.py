"""A kernel in the legacy default stream is a barrier between two streams that could overlap.

The fixed twin launches it on one of the two.
"""
import kit

cuda = kit.Cuda()
left, right = (cuda.made("StreamCreateWithFlags", 0) for _ in range(2))
encode, decode, count = cuda.kernels("encode_400us decode_400us count_3us")


def step(_, fixed):
    for _ in range(2):
        cuda.launch(encode, stream=left)  # PLANTED
        cuda.launch(count, stream=left if fixed else None)  # PLANTED
        cuda.launch(decode, stream=right)  # PLANTED
        cuda.launch(count, stream=right if fixed else None)  # PLANTED
    cuda.launch(count, stream=left)


kit.measure(step, cuda.DeviceSynchronize)

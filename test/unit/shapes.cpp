// Functions with every kind of name and line that a native frame can have, for test_frames.c. Each
// calls back, and the test takes the return addresses from there. Compiled with -O2 -g. Lines that
// the test asks for have a mark.
typedef void (*callback)();

#define KEEP	__attribute__((noinline, noclone))
#define VISIBLE __attribute__((visibility("default")))

static volatile int after; // work behind each call, so that none becomes a jump

// Named like the function of pybind11 that tries the overloads of a Python function.
namespace pybind11
{
struct VISIBLE cpp_function {
	static void dispatcher(callback call);
};
KEEP void cpp_function::dispatcher(callback call)
{
	for (int left = 1 + (after & 1); left > 0; left--)
		call();
	after += 1;
}
}

namespace shapes
{
template <class T> KEEP int generic(T value, callback call)
{
	call(); // line: generic
	return after += (int)value;
}

// Seen by the linker alone: its name is in .symtab but not in .dynsym.
static KEEP int hidden(callback call)
{
	int n = generic<long>(1, call); // line: hidden
	return after += n;
}

static inline __attribute__((always_inline)) int inlined(callback call)
{
	int n = hidden(call); // line: inlined
	return after += n;
}

VISIBLE KEEP int outer(callback call)
{
	int n = inlined(call); // line: outer
	return after += n;
}
}

namespace at
{
namespace _ops
{
struct VISIBLE add__Tensor {
	static int call(callback f, callback g);
	static int redispatch(callback f, callback g);
};
struct VISIBLE linear {
	static int call(callback f);
};
KEEP int add__Tensor::redispatch(callback f, callback g)
{
	f();
	g();
	return after += 1;
}
KEEP int add__Tensor::call(callback f, callback g)
{
	int n = redispatch(f, g);
	return after += n;
}
static void nothing()
{
}
KEEP int linear::call(callback f)
{
	int n = add__Tensor::call(f, nothing);
	return after += n;
}
}
}

// What nvcc makes of a kernel "scale" and its launch.
static KEEP void __device_stub__Z5scalePf(float *, callback call)
{
	call();
	after += 1;
}

VISIBLE KEEP void scale(float *p, callback call)
{
	__device_stub__Z5scalePf(p, call);
	after += 1;
}

extern "C" {
VISIBLE KEEP void shapes_launch(callback call)
{
	scale(nullptr, call); // line: launch
	after += 1;
}

VISIBLE KEEP void shapes_names(callback call)
{
	after += shapes::outer(call); // line: names
}

VISIBLE KEEP void shapes_operators(callback call)
{
	after += at::_ops::linear::call(call);
}

// An interpreter of the kind of CPython 3.8: each frame of it runs one function.
VISIBLE KEEP int _PyEval_EvalFrameDefault(int depth, callback call)
{
	if (depth)
		after += _PyEval_EvalFrameDefault(depth - 1, call);
	else
		call();
	return after += 1;
}

// A loop for test_functions.c.
VISIBLE KEEP void shapes_loop(callback call)
{
	after += 1;
	for (int left = 3 + (after & 3); left > 0; left--)
		call();
	after += 1;
}
}

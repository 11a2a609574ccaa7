/*
 * Kernels for programs that nvcc does not compile: PTX text for a real GPU; the simulated one uses
 * names only. spin_<N>us spins for N microseconds by the GPU's own nanosecond clock. Its name tells
 * the simulated GPU the same.
 */
#ifndef TEST_PROG_PTX_H
#define TEST_PROG_PTX_H

#define PTX_SPIN(name, us)                                                                        \
	".visible .entry " #name "_" #us                                                          \
	"us()\n{\n\t.reg .u64 %begin, %now;\n\t.reg .pred %busy;\n"                               \
	"\tmov.u64 %begin, %globaltimer;\nspin:\n\tmov.u64 %now, %globaltimer;\n\tsub.u64 %now, " \
	"%now, %begin;\n"                                                                         \
	"\tsetp.lt.u64 %busy, %now, " #us "000;\n\t@%busy bra spin;\n\tret;\n}\n"

#define PTX_HEAD ".version 7.0\n.target sm_75\n.address_size 64\n"

#define PTX_SPINS                                                                             \
	PTX_HEAD PTX_SPIN(spin, 5) PTX_SPIN(spin, 20) PTX_SPIN(spin, 200) PTX_SPIN(first, 10) \
		PTX_SPIN(last, 15)

#endif

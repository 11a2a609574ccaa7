/* An extension module as Python loads one: linked with libcudart, which its host program is not. */
#include "test/prog/work.h"

__attribute__((visibility("default"))) int extension_work(int launches);
int extension_work(int launches)
{
	return work_some(launches);
}

#include "test/sim/engine.h"
bool capture_active(const struct stream *stream) { return stream->capture != NULL; }
CUresult capture_forbids(struct stream *stream) { return stream->capture ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS; }
CUresult capture_unsafe(void) { return CUDA_SUCCESS; }
CUresult capture_kernel(struct stream *stream, const struct launch *launch) { (void)stream,(void)launch; return CUDA_ERROR_NOT_SUPPORTED; }
CUresult capture_move(struct stream *stream, const struct move *move) { (void)stream,(void)move; return CUDA_ERROR_NOT_SUPPORTED; }
CUresult capture_host(struct stream *stream, CUhostFn function, void *data) { (void)stream,(void)function,(void)data; return CUDA_ERROR_NOT_SUPPORTED; }
CUresult capture_event_record(struct stream *stream, struct event *event, unsigned flags) { (void)stream,(void)event,(void)flags; return CUDA_ERROR_NOT_SUPPORTED; }
CUresult capture_event_wait(struct stream *stream, struct event *event, unsigned flags) { (void)stream,(void)event,(void)flags; return CUDA_ERROR_NOT_SUPPORTED; }
void capture_event_forget(struct event *event) { (void)event; }
struct array *array_checked(CUarray handle) { (void)handle; return NULL; }

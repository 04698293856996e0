// The threads of the kernels: one pool for the whole process.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>

namespace bckm {

using Work = std::function<void(std::int64_t chunk, int worker)>;

// Calls work(chunk, worker) once for each chunk in [0, chunks), on at most `threads` threads, and
// returns when all calls have ended. The calling thread takes part.
//
// `worker` lies in [0, threads) and is different for calls that run at the same time: the index of
// scratch space that the caller of parallel() owns. Which worker gets which chunk is random, so
// results must depend on the chunk alone: give each chunk its own slot and combine the slots in
// order afterwards. Then one thread and many give the same bits.
//
// If a call throws, no further chunks begin, and one of the exceptions is thrown again here, in the
// calling thread, after the others have ended.
//
// The calling thread checks its `StopScope`, if there is one, before each of its chunks.
//
// Chunks run one after the other in the calling thread if threads is 1 (the pool is then not even
// created), if work itself calls parallel(), or if another thread is using the pool.
void parallel(std::int64_t chunks, int threads, const Work& work);

// Thrown by parallel() when the `StopScope` of the calling thread says that it is time to stop.
struct Stopped : std::exception {
    const char* what() const noexcept override { return "the time limit was reached"; }
};

// While one exists, parallel() in this thread asks `stop` before each chunk: so every kernel obeys
// deadlines and Ctrl-C without knowing of them.
class StopScope {
public:
    explicit StopScope(const std::function<bool()>& stop);
    ~StopScope();
    StopScope(const StopScope&) = delete;
    StopScope& operator=(const StopScope&) = delete;
};

}  // namespace bckm

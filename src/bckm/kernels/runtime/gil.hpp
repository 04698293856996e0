// Long work without Python's lock: nb::call_guard<WithoutGil>().
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <thread>

namespace bckm {

// Like nb::gil_scoped_release, except when the interpreter ends while a daemon thread is in here.
// Before 3.14, Python then ends the thread with pthread_exit() as it comes back for the lock; glibc
// does that by unwinding the stack, which cannot pass this destructor, and the whole process would
// abort. So such a thread waits here until the process has ended, as it does in Python 3.14.
class WithoutGil {
public:
    WithoutGil() : state_(PyEval_SaveThread()) {}
    ~WithoutGil() {
        try {
            PyEval_RestoreThread(state_);
        } catch (...) {  // not an exception, that call throws none: the unwinding
            for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
        }
    }
    WithoutGil(const WithoutGil&) = delete;
    WithoutGil& operator=(const WithoutGil&) = delete;

private:
    PyThreadState* state_;
};

}  // namespace bckm

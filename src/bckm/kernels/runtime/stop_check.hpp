// Deadlines and Ctrl-C, as the kernels ask for them; see StopScope in pool.hpp.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>

namespace bckm {

// True once the time is up. A signal (Ctrl-C) is raised as Python's exception; looking for one
// needs Python's lock, so that is done only now and then.
class StopCheck {
public:
    explicit StopCheck(double seconds)
        : start_(Clock::now()), last_look_(start_), seconds_(seconds),
          gets_signals_(PyThread_get_thread_ident() == main_thread) {}

    bool operator()() {
        const auto now = Clock::now();
        if (std::chrono::duration<double>(now - start_).count() > seconds_) return true;
        if (gets_signals_ && now - last_look_ > std::chrono::milliseconds(50)) {
            last_look_ = now;
            const nanobind::gil_scoped_acquire lock;
            if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
        }
        return false;
    }

    // Remembers Python's main thread, the only one that gets signals; it need not be the one that
    // imports this module.
    static void find_main_thread() {
        const nanobind::object thread =
            nanobind::module_::import_("threading").attr("main_thread")();
        main_thread = nanobind::cast<unsigned long>(thread.attr("ident"));
    }

private:
    using Clock = std::chrono::steady_clock;
    inline static unsigned long main_thread = 0;
    Clock::time_point start_, last_look_;
    double seconds_;
    bool gets_signals_;
};

}  // namespace bckm

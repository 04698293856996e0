#include "runtime/pool.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

#ifndef _WIN32
#include <unistd.h>
#endif

namespace bckm {
namespace {

// True in the threads of the pool, and in a caller while its chunks run: such a thread must not
// wait for the pool, which may be waiting for it.
thread_local bool inside = false;

// What this thread asks whether to stop; null in the threads of the pool.
thread_local const std::function<bool()>* stop_check = nullptr;

void check_stop() {
    if (stop_check != nullptr && (*stop_check)()) throw Stopped{};
}

struct Job {
    Job(std::int64_t chunks, const Work& work) : chunks(chunks), work(work) {}

    // Claims chunks until none is left.
    void take_part(int worker) {
        for (;;) {
            const std::int64_t chunk = next.fetch_add(1, std::memory_order_relaxed);
            if (chunk >= chunks) return;
            try {
                check_stop();
                work(chunk, worker);
            } catch (...) {
                next.store(chunks, std::memory_order_relaxed);
                const std::lock_guard<std::mutex> lock(guard);
                if (!failure) failure = std::current_exception();
            }
        }
    }

    const std::int64_t chunks;
    const Work& work;
    std::atomic<std::int64_t> next{0};
    std::mutex guard;
    std::exception_ptr failure;
};

long long process() {
#ifdef _WIN32
    return 0;  // no fork there
#else
    return getpid();
#endif
}

class Pool {
public:
    // The pool of this process. Never destroyed: when the process ends, its threads may still sleep
    // on the members, and joining them from a static destructor can hang or crash. A child made by
    // fork() has none of the parent's threads, and the parent's locks in whatever state they were;
    // so it leaves the old pool alone and makes its own. No lock: fork() could catch it locked.
    static Pool& instance() {
        static std::atomic<Pool*> current{nullptr};
        Pool* pool = current.load();
        while (pool == nullptr || pool->owner_ != process()) {
            Pool* fresh = new Pool;
            if (current.compare_exchange_strong(pool, fresh)) return *fresh;
            delete fresh;  // another thread was faster; this one has no threads yet
        }
        return *pool;
    }

    // Returns false, with nothing done, if another thread is using the pool. It could wait instead,
    // but the cores are busy already: the caller then does its work on its own core, and no job
    // waits for the end of another.
    bool run(Job& job, int threads) {
        const std::unique_lock<std::mutex> turn(turn_, std::try_to_lock);
        if (!turn.owns_lock()) return false;
        {
            const std::lock_guard<std::mutex> lock(guard_);
            job_ = &job;
            seats_ = std::min(threads - 1, grow(threads - 1));
        }
        wake_.notify_all();
        job.take_part(0);
        std::unique_lock<std::mutex> lock(guard_);
        seats_ = 0;  // threads that have not woken up by now are neither needed nor waited for
        idle_.wait(lock, [this] { return active_ == 0; });
        job_ = nullptr;
        return true;
    }

private:
    // Starts threads up to the number asked for; returns how many there are.
    int grow(int wanted) {
        try {
            for (; started_ < wanted; ++started_) std::thread([this] { live(); }).detach();
        } catch (const std::system_error&) {
            // the system provides no more threads: fewer do the same work
        }
        return started_;
    }

    void live() {
        inside = true;
        std::unique_lock<std::mutex> lock(guard_);
        for (;;) {
            wake_.wait(lock, [this] { return seats_ > 0; });
            const int worker = seats_--;  // seats are numbered from 1; 0 is the caller's
            Job& job = *job_;
            ++active_;
            lock.unlock();
            job.take_part(worker);
            lock.lock();
            if (--active_ == 0) idle_.notify_one();
        }
    }

    const long long owner_ = process();
    std::mutex turn_;   // held by the caller whose job it is
    std::mutex guard_;  // of everything below
    std::condition_variable wake_, idle_;
    Job* job_ = nullptr;
    int seats_ = 0;   // how many more threads may join the job
    int active_ = 0;  // how many have joined and not left
    int started_ = 0;
};

// Marks the calling thread for as long as its chunks run.
class Inside {
public:
    Inside() { inside = true; }
    ~Inside() { inside = false; }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
};

}  // namespace

void parallel(std::int64_t chunks, int threads, const Work& work) {
    threads = static_cast<int>(std::min<std::int64_t>(threads, chunks));
    if (threads > 1 && !inside) {
        const Inside mark;
        Job job(chunks, work);
        if (Pool::instance().run(job, threads)) {
            if (job.failure) std::rethrow_exception(job.failure);
            return;
        }
    }
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
        check_stop();
        work(chunk, 0);
    }
}

StopScope::StopScope(const std::function<bool()>& stop) { stop_check = &stop; }

StopScope::~StopScope() { stop_check = nullptr; }

}  // namespace bckm

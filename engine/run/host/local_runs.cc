#include "run/host/local_runs.h"

#include "run/host/piece_publisher.h"
#include "runtime/runtime.h"

namespace agent_graph::run {
namespace {

// Most runs begin milliseconds after they were watched. Some never do, because they were cancelled,
// or have ended already.
constexpr size_t kEarlyWatchesMax = 1024;

}  // namespace

void LocalRuns::Add(const std::string& thread_id, const std::string& run_id,
                    std::shared_ptr<LiveRun> live) {
  auto place = std::make_shared<Place>();
  place->live = std::move(live);
  uint64_t watch = 0;
  {
    MutexLock lock(mutex_);
    runs_[Key(thread_id, run_id)] = std::move(place);
    if (const auto early = early_watches_.extract(Key(thread_id, run_id))) watch = early.mapped();
  }
  if (watch != 0) Publish({.thread_id = thread_id, .run_id = run_id, .watch = watch});
}

void LocalRuns::Remove(const std::string& thread_id, const std::string& run_id, LiveRun& live) {
  {
    MutexLock lock(mutex_);
    const auto found = runs_.find(Key(thread_id, run_id));
    if (found != runs_.end() && found->second->live.get() == &live) runs_.erase(found);
  }
  live.End();
}

std::shared_ptr<LiveRun> LocalRuns::Find(const std::string& thread_id,
                                         const std::string& run_id) const {
  std::shared_ptr<LiveRun> live;
  {
    MutexLock lock(mutex_);
    const auto found = runs_.find(Key(thread_id, run_id));
    if (found == runs_.end()) return nullptr;
    live = found->second->live;
  }
  live->SetFollowed();
  return live;
}

void LocalRuns::Publish(const state::RunWatched& watched) {
  std::shared_ptr<Place> place;
  {
    MutexLock lock(mutex_);
    const auto found = runs_.find(Key(watched.thread_id, watched.run_id));
    if (found == runs_.end()) {
      if (early_watches_.size() >= kEarlyWatchesMax) early_watches_.clear();
      early_watches_[Key(watched.thread_id, watched.run_id)] = watched.watch;
      return;
    }
    const bool publishes = std::exchange(WatchOf(*found->second), watched.watch) != 0;
    if (publishes) return;
    place = found->second;
  }
  place->live->SetFollowed();
  runtime_.Spawn([this, place, thread_id = watched.thread_id, run_id = watched.run_id] {
    const auto watch = [&] {
      MutexLock lock(mutex_);
      return WatchOf(*place);
    };
    // Returns false if another client has begun to watch meanwhile: publishing then continues.
    const auto stops = [&](uint64_t before) {
      MutexLock lock(mutex_);
      uint64_t& latest = WatchOf(*place);
      if (latest != before) return false;
      latest = 0;
      return true;
    };
    PiecePublisher(state_, place->live, thread_id, run_id).Publish(watch, stops);
  });
}

}  // namespace agent_graph::run

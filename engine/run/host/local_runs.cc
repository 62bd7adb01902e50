#include "run/host/local_runs.h"

#include "run/host/piece_publisher.h"
#include "runtime/runtime.h"

namespace agent_graph::run {

void LocalRuns::Add(const std::string& thread_id, const std::string& run_id,
                    std::shared_ptr<LiveRun> live) {
  auto place = std::make_shared<Place>();
  place->live = std::move(live);
  MutexLock lock(mutex_);
  runs_[Key(thread_id, run_id)] = std::move(place);
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
    if (found == runs_.end()) return;
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

// StoreExecutor: replies and other messages to clients.
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "state/store/executor.h"

namespace agent_graph::state {
namespace {

// With few replies, waking a read thread would take longer than reading. With many of them, the
// read threads share the work while the write thread goes on.
constexpr size_t kLoadsOfWriterMax = 4;

}  // namespace

void StoreExecutor::Send(std::vector<StoreReply> replies, std::vector<StoreNotice> notices,
                         bool syncs_later) {
  // All messages of a commit to one client together: one send, and one wake-up of the client.
  std::unordered_map<uint64_t, std::vector<ClientMessage>> messages;
  std::vector<HeldMessages::Item> held;
  const bool unsynced = syncs_later || held_.is_behind();
  size_t loads_left = is_shared() ? 0 : kLoadsOfWriterMax;
  for (StoreReply& reply : replies) {
    auto connection = connections_.find(reply.to.connection);
    if (connection == connections_.end()) continue;
    const uint64_t sequence = reply.to.sequence;
    const bool holds = (unsynced && !reply.before_sync) || held_.MustHold(connection->first);
    if (reply.status.ok() && reply.reply.load != ReplyRow::Load::kNothing && loads_left > 0) {
      loads_left = LoadIfLittle(reply) ? loads_left - 1 : 0;
    }
    if (reply.status.ok() && reply.reply.load != ReplyRow::Load::kNothing) {
      auto load = std::make_shared<ReadItem>();
      load->request.connection = connection->second;
      load->request.header.sequence = sequence;
      load->known = database_->TakeThreadView(reply.reply.thread_id);
      load->load = std::move(reply.reply);
      const auto read = [this, load] { reads_.Push(std::move(*load)); };
      if (!holds) {
        read();
      } else {
        // The message names the request, which is refused if the sync fails.
        held.push_back({.connection = connection->second,
                        .message = Reply{sequence, Status::Ok(), {}},
                        .deliver = read});
      }
      continue;
    }
    ClientMessage message =
        reply.queued
            ? ClientMessage(Queued{sequence})
            : ClientMessage(Reply{sequence, std::move(reply.status), std::move(reply.reply.body)});
    if (holds) {
      held.push_back({.connection = connection->second, .message = std::move(message)});
    } else {
      messages[connection->first].push_back(std::move(message));
    }
  }
  for (StoreNotice& notice : notices) {
    auto connection = connections_.find(notice.connection);
    if (connection == connections_.end()) continue;
    // A ping says nothing about rows. It must not wait for the disk, because a client that does not
    // answer counts as silent.
    const bool holds = !std::holds_alternative<Ping>(notice.message) &&
                       (unsynced || held_.MustHold(connection->first));
    if (holds) {
      held.push_back({.connection = connection->second,
                      .message = std::move(notice.message),
                      .is_ordered = true});
    } else {
      messages[connection->first].push_back(std::move(notice.message));
    }
  }
  for (auto& [connection, list] : messages) connections_.at(connection)->SendAll(std::move(list));
  if (syncs_later) {
    held_.NoteWritten(std::move(held));
  } else {
    held_.Hold(std::move(held));
  }
}

// The request stays counted in its connection's queue, so that the socket is not read when too many
// of them wait.
void StoreExecutor::AwaitSync(ReadItem item, WorkQueue<ReadItem>& queue) {
  const bool is_counted = item.load.load == ReplyRow::Load::kNothing && !item.parked_until;
  HeldMessages::Item held;
  held.connection = item.request.connection;
  held.message = Reply{item.request.header.sequence, Status::Ok(), {}};
  held.request_bytes = is_counted ? item.request.bytes.size() : 0;
  held.deliver = [&queue, read = std::make_shared<ReadItem>(std::move(item))] {
    queue.Push(std::move(*read));
  };
  std::vector<HeldMessages::Item> items;
  items.push_back(std::move(held));
  held_.Hold(std::move(items));
}

bool StoreExecutor::LoadIfLittle(StoreReply& reply) {
  try {
    std::optional<Result<std::string>> body = reader_.LoadIfLittle(reply.reply);
    if (!body || !body->ok()) return false;
    reply.reply.body = **std::move(body);
    reply.reply.load = ReplyRow::Load::kNothing;
    return true;
  } catch (const std::exception&) {
    return false;  // the read thread reports what is wrong
  }
}

}  // namespace agent_graph::state

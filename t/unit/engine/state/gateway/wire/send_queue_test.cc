#include "state/gateway/wire/send_queue.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "base/file_descriptor.h"

namespace agent_graph::state::wire {
namespace {

struct SocketPair {
  SocketPair() {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) != 0) std::abort();
    sender = FileDescriptor(ends[0]);
    receiver = FileDescriptor(ends[1]);
  }
  // Everything that can be read now.
  std::string Receive() {
    std::string received;
    std::string buffer(4096, '\0');
    for (ssize_t bytes; (bytes = recv(receiver.get(), buffer.data(), buffer.size(), 0)) > 0;) {
      received.append(buffer, 0, static_cast<size_t>(bytes));
    }
    return received;
  }

  FileDescriptor sender;
  FileDescriptor receiver;
};

std::shared_ptr<const std::string> Shared(size_t bytes, char c) {
  return std::make_shared<const std::string>(bytes, c);
}

// More than a socket accepts at once.
constexpr size_t kLarge = 3'000'000;

TEST(SendQueue, SendsSmallFramesTogether) {
  SocketPair sockets;
  SendQueue queue;
  queue.Add("one,");
  queue.Add(Shared(3, '2'));
  queue.Add(std::string(",three"));
  EXPECT_EQ(queue.bytes(), 13u);
  queue.Send(sockets.sender.get());
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(sockets.Receive(), "one,222,three");
}

TEST(SendQueue, KeepsTheOrderOfSmallAndLargeFrames) {
  SocketPair sockets;
  SendQueue queue;
  std::string added;
  std::string received;
  const auto send = [&] {
    queue.Send(sockets.sender.get());
    received += sockets.Receive();
  };
  for (int round = 0; round < 3; ++round) {
    queue.Add("begin");
    queue.Add(Shared(kLarge, 'a'));
    queue.Add("middle");
    send();
    queue.Add(std::string(kLarge, 'b'));
    queue.Add("end");
    send();
    added += "begin" + std::string(kLarge, 'a') + "middle" + std::string(kLarge, 'b') + "end";
  }
  EXPECT_EQ(queue.bytes(), added.size() - received.size());
  while (!queue.empty()) send();
  EXPECT_TRUE(received == added);
}

TEST(SendQueue, SendsSmallFramesInOrderWhileTheSocketIsFull) {
  SocketPair sockets;
  SendQueue queue;
  std::string added;
  std::string received;
  for (int i = 0; i < 200'000; ++i) {
    const std::string frame = std::to_string(i) + ",";
    added += frame;
    queue.Add(frame);
    if (i % 1000 == 0) queue.Send(sockets.sender.get());
    if (i % 50'000 == 0) received += sockets.Receive();
  }
  while (!queue.empty()) {
    queue.Send(sockets.sender.get());
    received += sockets.Receive();
  }
  EXPECT_TRUE(received == added);
}

TEST(SendQueue, DoesNotCopyALargeFrame) {
  SocketPair sockets;
  SendQueue queue;
  const std::shared_ptr<const std::string> frame = Shared(kLarge, 'a');
  queue.Add(frame);
  EXPECT_EQ(frame.use_count(), 2);
  while (!queue.empty()) {
    queue.Send(sockets.sender.get());
    sockets.Receive();
  }
  EXPECT_EQ(frame.use_count(), 1);
}

TEST(SendQueue, ForgetsEverythingWhenCleared) {
  SocketPair sockets;
  SendQueue queue;
  const std::shared_ptr<const std::string> frame = Shared(kLarge, 'a');
  queue.Add(frame);
  queue.Add("small");
  queue.Send(sockets.sender.get());
  queue.Clear();
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(frame.use_count(), 1);
  sockets.Receive();
  queue.Add("new");
  queue.Send(sockets.sender.get());
  EXPECT_EQ(sockets.Receive(), "new");
}

TEST(SendQueue, KeepsWhatASocketWithAnErrorDoesNotAccept) {
  SocketPair sockets;
  sockets.receiver.Reset();
  SendQueue queue;
  queue.Add("lost");
  queue.Send(sockets.sender.get());
  EXPECT_EQ(queue.bytes(), 4u);
}

}  // namespace
}  // namespace agent_graph::state::wire

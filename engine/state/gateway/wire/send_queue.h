// Frames that wait until a socket accepts them.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>

namespace agent_graph::state::wire {

// Not thread-safe. Small frames are joined, so that one call of the system sends many; large ones
// are not copied.
class SendQueue {
 public:
  void Add(std::string frames);
  // The caller keeps the frame, too, for example to send it again on another connection.
  void Add(const std::shared_ptr<const std::string>& frame);

  bool empty() const { return bytes_ == 0; }
  // Bytes that are not sent yet.
  size_t bytes() const { return bytes_; }

  // Sends what the socket accepts now. After an error of the socket, nothing more is sent; reading
  // from the socket shows the error.
  void Send(int socket);
  void Clear();

 private:
  void Append(std::string_view frame);
  // Returns the bytes to send next.
  std::string_view Front() const;
  void Sent(size_t bytes);

  std::deque<std::shared_ptr<const std::string>> large_;  // sent before `joined_`
  std::string joined_;
  size_t start_ = 0;  // bytes of the first of them that are sent
  size_t bytes_ = 0;
};

}  // namespace agent_graph::state::wire

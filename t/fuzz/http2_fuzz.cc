// Arbitrary bytes from an HTTP/2 server: each stream ends once, and no more than the window waits
// for its reader.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "net/http2_connection.h"

namespace agent_graph::net {
namespace {

// An empty SETTINGS frame, and the acknowledgement of the client's own.
constexpr std::string_view kServersPreface("\0\0\0\4\0\0\0\0\0\0\0\0\4\1\0\0\0\0", 18);
constexpr size_t kRequestBytes = 100'000;  // more than a server's first window
constexpr size_t kBytesMax = 64 * 1024;

void Require(bool condition) {
  if (!condition) std::abort();
}

class Stream final : public Http2Stream {
 public:
  enum class Reader : uint8_t { kReads, kWaits, kLeaves, kUploads };

  Stream(std::shared_ptr<Http2Connection> connection, Reader reader)
      : connection_(std::move(connection)), reader_(reader) {
    HttpHeaders headers = {
        {":method", "POST"}, {":scheme", "https"}, {":authority", "a"}, {":path", "/"}};
    number_ = connection_->Open(headers, reader_ == Reader::kUploads, *this);
    ended_ = number_ == 0;
  }
  ~Stream() override { Require(ended_); }

  void Read() {
    if (ended_ || reader_ == Reader::kWaits) return;
    connection_->Consume(number_, unread_);
    unread_ = 0;
  }

  size_t GiveBody(char* data, size_t room, bool& end) override {
    Require(!ended_ && given_ < kRequestBytes);
    const size_t size = std::min(room, kRequestBytes - given_);
    std::fill_n(data, size, 'x');
    given_ += size;
    end = given_ == kRequestBytes;
    return size;
  }
  void OnHeader(std::string_view name, std::string_view) override {
    Require(!ended_ && !name.empty());
  }
  void OnHeadersEnd() override {
    Require(!ended_);
    has_head_ = true;
  }
  void OnBody(std::string_view piece) override {
    Require(!ended_ && has_head_);
    unread_ += piece.size();
    Require(unread_ <= kReadAheadBytes);
    if (reader_ != Reader::kLeaves) return;
    ended_ = true;
    connection_->Reset(number_);
  }
  void OnEnd(Http2End end) override {
    Require(!ended_ && (end != Http2End::kComplete || has_head_));
    ended_ = true;
  }

 private:
  const std::shared_ptr<Http2Connection> connection_;
  const Reader reader_;
  int32_t number_ = 0;
  size_t unread_ = 0;
  size_t given_ = 0;
  bool has_head_ = false;
  bool ended_ = false;
};

class Client final : public Http2Connection::Owner {
 public:
  explicit Client(int descriptor)
      : connection_(std::make_shared<Http2Connection>(loop_, SocketRoute(), nullptr, *this, 1)) {
    connection_->StartOn(descriptor);
  }
  ~Client() override { Require(closed_); }

  void OpenStreams() {
    using Reader = Stream::Reader;
    for (const auto reader :
         {Reader::kReads, Reader::kWaits, Reader::kLeaves, Reader::kUploads, Reader::kReads}) {
      if (connection_->room() == 0) return;
      streams_.push_back(std::make_unique<Stream>(connection_, reader));
    }
  }
  void Serve() {
    loop_.restart();
    loop_.poll();
    for (const auto& stream : streams_) stream->Read();
    loop_.restart();
    loop_.poll();
  }

 private:
  void OnRoom(Http2Connection&) override { Require(!closed_); }
  void OnLeaving(Http2Connection& connection, size_t) override {
    Require(!closed_ && !connection.is_open());
  }
  void OnClosed(Http2Connection&, Http2Connection::Failure) override {
    Require(!closed_);
    closed_ = true;
  }

  boost::asio::io_context loop_;
  bool closed_ = false;
  std::shared_ptr<Http2Connection> connection_;
  std::vector<std::unique_ptr<Stream>> streams_;
};

// The other end of a socket. It reads what the client sends, or nothing.
class Server {
 public:
  Server(int descriptor, bool reads) : descriptor_(descriptor), reads_(reads) {}
  ~Server() { close(descriptor_); }

  void Send(std::string_view bytes) {
    (void)send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    std::array<char, 4096> received;
    while (reads_ && recv(descriptor_, received.data(), received.size(), MSG_DONTWAIT) > 0) {
    }
  }
  void End() { shutdown(descriptor_, SHUT_WR); }

 private:
  const int descriptor_;
  const bool reads_;
};

}  // namespace

// The first byte chooses how the others are divided, and whether the server reads.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  std::string_view bytes(reinterpret_cast<const char*>(data), std::min(size, kBytesMax));
  constexpr size_t kPieceBytes[] = {kBytesMax, 1000, 100, 13};
  const size_t piece_bytes = kPieceBytes[data[0] & 3];
  int ends[2];
  Require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
  Server server(ends[0], (data[0] & 4) == 0);
  Client client(ends[1]);
  server.Send(kServersPreface);
  client.Serve();
  client.OpenStreams();
  for (bytes.remove_prefix(1); !bytes.empty();) {
    server.Send(bytes.substr(0, piece_bytes));
    client.Serve();
    bytes.remove_prefix(std::min(piece_bytes, bytes.size()));
  }
  server.End();
  client.Serve();
  return 0;
}

}  // namespace agent_graph::net

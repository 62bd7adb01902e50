#include "net/socket_opener.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <string>

#include "base/file_descriptor.h"
#include "on_fiber.h"
#include "runtime/runtime.h"
#include "runtime/signal.h"
#include "scripted_server.h"

namespace agent_graph::net {
namespace {

// A local address that drops packets for new connections, because its queue is full.
class BlackHole {
 public:
  BlackHole() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(bind(listener_.get(), generic, length), 0);
    EXPECT_EQ(listen(listener_.get(), 0), 0);
    EXPECT_EQ(getsockname(listener_.get(), generic, &length), 0);
    port_ = ntohs(address.sin_port);
    for (FileDescriptor& filler : fillers_) {
      filler = FileDescriptor(NewSocket());
      (void)connect(filler.get(), generic, length);
    }
  }

  std::string port() const { return std::to_string(port_); }

 private:
  static int NewSocket() { return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); }

  const FileDescriptor listener_{NewSocket()};
  std::array<FileDescriptor, 4> fillers_;
  int port_ = 0;
};

class SocketOpenerTest : public testing::OnFiber {
 protected:
  // Returns "open", or why the stream could not be opened.
  std::string Open(SocketRoute route) {
    struct Owner {
      Owner(boost::asio::io_context& loop, SocketRoute way)
          : stream(loop), opener(loop, stream, std::move(way)) {}
      SocketStream stream;
      SocketOpener opener;
    };
    return Run([&] {
      const auto owner =
          std::make_shared<Owner>(*runtime::Runtime::CurrentLoop(), std::move(route));
      const runtime::Promise<std::string> end;
      owner->opener.Start(owner, std::chrono::seconds(10),
                          [end](const char* what, boost::system::error_code error) {
                            end.Set(error ? what + error.message() : "open");
                          });
      return end.Wait(nullptr, kNoDeadline).value();
    });
  }

  testing::ScriptedServer server_{
      [](testing::Connection& connection) { connection.WaitUntilPeerCloses(); }};
};

TEST_F(SocketOpenerTest, AnAddressThatDoesNotAnswerLeavesTimeForTheNext) {
  const BlackHole hole;
  const std::string port = std::to_string(server_.port());
  SocketRoute route{.target = {.scheme = "http", .host = "model.example", .port = port}};
  route.addresses = AddressOf("127.0.0.1", hole.port());
  route.addresses.push_back(AddressOf("127.0.0.1", port).front());
  EXPECT_EQ(Open(route), "open");
}

TEST_F(SocketOpenerTest, ANameIsLookedUp) {
  const std::string port = std::to_string(server_.port());
  EXPECT_EQ(Open({.target = {.scheme = "http", .host = "localhost", .port = port}}), "open");
  const std::string none =
      Open({.target = {.scheme = "http", .host = "no-such-host.invalid", .port = port}});
  EXPECT_TRUE(none.starts_with("no address: ")) << none;
}

}  // namespace
}  // namespace agent_graph::net

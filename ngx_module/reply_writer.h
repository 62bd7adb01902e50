// Sends one reply through nginx's filters: the head, then pieces of the body as they come, then the
// end. Buffers are reused, so a stream of hours takes no memory from the request's pool.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bridge/outbox.h"
#include "bridge/request.h"
#include "ngx.h"

namespace agent_graph::nginx {

// The loop's thread only. Must live until the request's pool dies: nginx may send the last pieces
// after the request was finalized.
class ReplyWriter {
 public:
  explicit ReplyWriter(ngx_http_request_t* request) : request_(request) {}
  ~ReplyWriter();
  ReplyWriter(const ReplyWriter&) = delete;
  ReplyWriter& operator=(const ReplyWriter&) = delete;

  // Collected here, sent by the next Flush.
  void SetHead(bridge::ReplyHead head);
  void Append(std::string bytes);
  // Bytes that outlive the request and are not counted.
  void AppendLasting(std::string_view bytes);
  void AppendFile(bridge::SendFile part);
  void Finish() { finished_ = true; }

  // Hands everything to nginx, the last piece flushed. Also goes on with what nginx still holds.
  // NGX_OK; NGX_AGAIN: some of it waits for the client; else a code to finalize the request with.
  ngx_int_t Flush();

  // Bytes of the body that have left nginx since the last call.
  uint64_t TakeReleased();
  // For a client that is gone: the size of what has not left nginx and never will.
  uint64_t DiscardUnsent();

  // Of the body, on their way through nginx or to it.
  uint64_t unsent_bytes() const;

  bool has_head() const { return head_.has_value(); }
  bool head_sent() const { return head_sent_; }
  // A reply of known length is all here and only its end is missing.
  bool complete() const { return length_ >= 0 && appended_ >= length_; }
  // The head announces more than there is; no fault where the request or status has no body.
  bool lacks_bytes() const { return appended_ < length_; }

 private:
  // A buffer, its chain link and the bytes it points to.
  struct Piece {
    ngx_buf_t buffer;
    ngx_chain_t link;
    std::string bytes;
    FileDescriptor file;  // of a piece that is part of a file
    ngx_file_t file_of_nginx;
    Piece* next;
  };
  // First in, first out.
  struct PieceList {
    Piece* first = nullptr;
    Piece* last = nullptr;
    void Push(Piece* piece);
    Piece* Pop();
  };

  ngx_int_t SendHead();
  ngx_int_t SetField(const std::string& name, const std::string& value);
  void AppendPiece(Piece* piece, std::string_view bytes);
  Piece* NewPiece();
  ngx_chain_t* PrepareChain();
  void Recycle();

  ngx_http_request_t* const request_;
  std::optional<bridge::ReplyHead> head_;  // kept: nginx's header list refers to its strings
  bool head_sent_ = false;
  bool finished_ = false;
  bool last_sent_ = false;
  PieceList pending_;  // not given to nginx yet
  PieceList busy_;     // with nginx
  PieceList free_;
  size_t free_count_ = 0;
  uint64_t released_ = 0;
  int64_t length_ = -1;  // as the head announces it
  int64_t appended_ = 0;
};

}  // namespace agent_graph::nginx

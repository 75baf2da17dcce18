// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <utility>
#include <vector>

namespace torchfeed::detail {

/// The connections of one rank to the others of its group, found among the process's sockets.
///
/// Every group has a listening socket of its own, so its connections are those accepted there and
/// those made to where a peer listens. Nothing but the sockets' shutdown wakes an operation of Gloo
/// that waits for a hung peer.
class GroupSockets {
 public:
  struct Connection {
    int64_t rank;  ///< at the other end; -1 if unknown: Python's, or behind translated addresses
    int descriptor;
    std::string own_address;
    std::string peer_address;
  };

  GroupSockets() = default;
  explicit GroupSockets(std::vector<Connection> connections)
      : connections_(std::move(connections)) {}

  [[nodiscard]] bool is_empty() const { return connections_.empty(); }
  /// Ends every connection at once; both ends then fail as if the other had died.
  void shut_down() const;
  /// Returns the ranks whose connections have ended.
  [[nodiscard]] std::vector<int64_t> lost() const;
  /// Returns whether bytes that came before the end of a connection are still to be read.
  [[nodiscard]] bool has_unread_end() const;
  /// Returns the time since a byte was sent or received on a connection that has not ended.
  [[nodiscard]] std::chrono::milliseconds quiet_for() const;

 private:
  std::vector<Connection> connections_;
};

/// The time that Gloo waits longer than an operation may, since its timeout ends the connections.
constexpr std::chrono::milliseconds kBeyondTimeout(5000);

struct GlooMesh {
  c10::intrusive_ptr<c10d::Backend> backend;
  GroupSockets sockets;
  std::chrono::milliseconds timeout{0};  ///< of an operation; 0: the backend's own
};

struct GlooOptions {
  std::chrono::milliseconds timeout;
  std::string host;               ///< the address to listen at; if empty, see `interface`
  std::string interface;          ///< the network interface to use; if empty, the host name's
  bool has_python_ranks = false;  ///< which write only Gloo's keys into the store
};

/// Connects this rank to the others, which use an equal store under the same prefix.
[[nodiscard]] GlooMesh connect_gloo(const c10::intrusive_ptr<c10d::Store>& store, int rank,
                                    int world_size, const GlooOptions& options);

}  // namespace torchfeed::detail

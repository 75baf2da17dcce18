// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <set>
#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

namespace torchfeed::detail {

/// The connections of one rank to the others of its group, found among the process's sockets.
///
/// Every group has a listening socket of its own, so its connections are those accepted there and
/// those made to where a peer listens. Nothing but the sockets' shutdown wakes an operation of Gloo
/// that waits for a hung peer.
class GroupSockets {
 public:
  GroupSockets() = default;
  /// Takes addresses as `address_of` makes them.
  GroupSockets(std::string listener, std::set<std::string> peers)
      : listener_(std::move(listener)), peers_(std::move(peers)) {}

  /// Ends every connection at once; both ends then fail as if the other had died.
  void shut_down() const;

 private:
  std::string listener_;
  std::set<std::string> peers_;
};

struct GlooMesh {
  c10::intrusive_ptr<c10d::Backend> backend;
  GroupSockets sockets;
};

struct GlooOptions {
  std::chrono::milliseconds timeout;
  std::string host;       ///< the address to listen at; if empty, see `interface`
  std::string interface;  ///< the network interface to use; if empty, that of the host's name
};

/// Connects this rank to the others, which use an equal store under the same prefix.
[[nodiscard]] GlooMesh connect_gloo(const c10::intrusive_ptr<c10d::Store>& store, int rank,
                                    int world_size, const GlooOptions& options);

}  // namespace torchfeed::detail

// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.rendezvous;

import java.util.Locale;
import java.util.Map;
import java.util.Set;

/**
 * The places at which the ranks of Python's default group meet, and the settings that would make
 * them send more than the ranks of this package answer.
 *
 * <p>Source: PyTorch 2.10.0, {@code torch/distributed/distributed_c10d.py} and {@code
 * rendezvous.py}.
 */
public final class PythonProtocol {
  /** The prefix of the keys of the store of Python's default group, whose name is 0. */
  static final String STORE_PREFIX = "default_pg/0//";

  /** The prefix of Gloo's keys, which belong to the first device of the group. */
  static final String GLOO_PREFIX = STORE_PREFIX + "cpu/";

  private static final Set<String> ON = Set.of("1", "true", "t", "on", "yes", "y");

  private PythonProtocol() {}

  /** Throws if the environment, which ranks share, asks Python for more than Gloo's messages. */
  public static void check(Map<String, String> variables) {
    refuse(variables, "TORCH_DISTRIBUTED_DEBUG", Set.of("detail"));
    refuse(variables, "TORCH_DIST_INIT_BARRIER", ON);
    refuse(variables, "TORCH_GLOO_LAZY_INIT", ON);
    String networkInterface = variables.getOrDefault("GLOO_SOCKET_IFNAME", "");
    if (networkInterface.contains(",")) {
      throw refusal("GLOO_SOCKET_IFNAME", networkInterface);
    }
  }

  private static void refuse(Map<String, String> variables, String name, Set<String> values) {
    String value = variables.getOrDefault(name, "");
    if (values.contains(value.strip().toLowerCase(Locale.ROOT))) {
      throw refusal(name, value);
    }
  }

  private static IllegalArgumentException refusal(String name, String value) {
    return new IllegalArgumentException(
        "environment variable %s must not be '%s' on any rank of a group with Python ranks"
            .formatted(name, value));
  }
}

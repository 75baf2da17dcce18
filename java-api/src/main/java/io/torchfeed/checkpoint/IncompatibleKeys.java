// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import io.torchfeed.internal.Checks;
import java.util.List;

/**
 * The names on which a module and saved tensors differ, as {@code load_state_dict} of Python
 * returns them with {@code strict=False}.
 *
 * @param missingKeys the parameters and buffers of the module that were not saved, in its order;
 *     they stay as they are
 * @param unexpectedKeys the saved tensors that the module does not have, without the prefix, in the
 *     order of the file
 */
public record IncompatibleKeys(List<String> missingKeys, List<String> unexpectedKeys) {
  /**
   * Copies the lists.
   *
   * @param missingKeys as in the record
   * @param unexpectedKeys as in the record
   */
  public IncompatibleKeys {
    missingKeys = Checks.copyOf("missingKeys", missingKeys);
    unexpectedKeys = Checks.copyOf("unexpectedKeys", unexpectedKeys);
  }
}

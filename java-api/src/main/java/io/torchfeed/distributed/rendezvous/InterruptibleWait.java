// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.rendezvous;

import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.spi.AbstractInterruptibleChannel;

/**
 * A wait in native code that an interrupt of its thread ends by aborting the group. The interrupt
 * itself does so, so that no other thread is needed.
 */
final class InterruptibleWait extends AbstractInterruptibleChannel {
  private final GroupCore group;

  InterruptibleWait(GroupCore group) {
    this.group = group;
  }

  void start() {
    begin();
  }

  /** Ends the wait; returns whether an interrupt has ended it. */
  boolean isInterrupted() {
    try {
      end(true);
      return false;
    } catch (AsynchronousCloseException e) {
      return true;
    }
  }

  @Override
  protected void implCloseChannel() {
    group.abort();
  }
}

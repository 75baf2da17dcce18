// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.storage;

import io.torchfeed.storage.ByteSourceException.Problem;
import io.torchfeed.storage.Retries.PassingException;
import java.net.URI;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A short answer that is read as a whole, such as a page of a listing. */
final class HttpDocument {
  private HttpDocument() {}

  /**
   * Returns the body of an answer.
   *
   * @param name of the document in messages, which have nothing of its address
   * @param maxBytes the most that it may have
   */
  static byte[] read(
      String name, URI uri, RequestHeaders headers, HttpOptions options, int maxBytes)
      throws ByteSourceException {
    HttpCaller caller = new HttpCaller(name, new HttpPlace(uri, headers), options);
    ByteBuffer into = ByteBuffer.allocate(maxBytes);
    int count = caller.call(0, route -> attempt(caller, route, into));
    return Arrays.copyOf(into.array(), count);
  }

  private static int attempt(HttpCaller caller, HttpPlace.Route route, ByteBuffer into)
      throws ByteSourceException, PassingException {
    RangeTransfer transfer = new RangeTransfer(200, head -> into.remaining(), into);
    @Nullable PassingException broken = caller.send(route, 0, Map.of(), transfer);
    int count = transfer.stop();
    if (broken != null) {
      throw broken; // a part of a document is of no use
    } else if (transfer.hasExcess()) {
      String rule = "the answer must have at most %d bytes, got more".formatted(into.capacity());
      throw caller.failure(Problem.WRONG_ANSWER, 0, rule, null);
    } else if (count == 0 && transfer.status() == 200) {
      throw caller.failure(Problem.WRONG_ANSWER, 0, "the answer is empty", null);
    } else if (count == 0) {
      caller.withoutBytes(transfer, route, 0);
    }
    return count;
  }
}

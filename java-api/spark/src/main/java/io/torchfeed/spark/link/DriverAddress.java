// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark.link;

import java.io.Serializable;

/** The address at which the ranks of a job find the driver, and the secret that only they know. */
public final class DriverAddress implements Serializable {
  private static final long serialVersionUID = 1L;

  private final String host;
  private final int port;
  private final byte[] secret;

  DriverAddress(String host, int port, byte[] secret) {
    this.host = host;
    this.port = port;
    this.secret = secret;
  }

  String host() {
    return host;
  }

  int port() {
    return port;
  }

  byte[] secret() {
    return secret;
  }

  @Override
  public String toString() {
    return host + ":" + port;
  }
}

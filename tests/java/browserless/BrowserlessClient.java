// BrowserlessClient.java
import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.oauth2.sdk.*;
import com.nimbusds.oauth2.sdk.auth.*;
import com.nimbusds.oauth2.sdk.ciba.*;
import com.nimbusds.oauth2.sdk.device.*;
import com.nimbusds.oauth2.sdk.http.HTTPResponse;
import com.nimbusds.oauth2.sdk.id.*;
import com.nimbusds.openid.connect.sdk.*;
import com.nimbusds.openid.connect.sdk.claims.IDTokenClaimsSet;
import com.nimbusds.openid.connect.sdk.op.OIDCProviderMetadata;
import com.nimbusds.openid.connect.sdk.token.OIDCTokens;
import com.nimbusds.openid.connect.sdk.validators.IDTokenValidator;
import java.util.function.Consumer;

/** Asks for users without a browser, and signs them in on devices without one. */
public final class BrowserlessClient {
  /** A public client has no secret. */
  public record Settings(Issuer issuer, ClientID clientId, Secret secret) {}

  /** A user who approved. */
  public record User(OIDCTokens tokens, IDTokenClaimsSet claims) {}

  private final Settings settings;
  private final OIDCProviderMetadata provider;
  private final ClientAuthentication authentication;

  /** Reads the discovery document of the issuer. */
  public BrowserlessClient(Settings settings) throws Exception {
    this.settings = settings;
    provider = OIDCProviderMetadata.resolve(settings.issuer);
    authentication = settings.secret == null ? null : new ClientSecretBasic(settings.clientId, settings.secret);
  }

  /** Asks for the user with this name. The phone shows the message. */
  public CIBARequestAcknowledgement ask(String user, String message) throws Exception {
    var request = new CIBARequest.Builder(authentication, new Scope("openid", "profile"))
        .loginHint(user).bindingMessage(message)
        .endpointURI(provider.getBackChannelAuthenticationEndpointURI()).build();
    var response = CIBAResponse.parse(request.toHTTPRequest().send());
    if (!response.indicatesSuccess()) throw new GeneralException(response.toErrorResponse().getErrorObject());
    return response.toRequestAcknowledgement();
  }

  /** Asks for the codes of this device. Show the user code and the verification URI. */
  public DeviceAuthorizationSuccessResponse codes() throws Exception {
    var request = new DeviceAuthorizationRequest.Builder(settings.clientId)
        .scope(new Scope("openid", "profile"))
        .endpointURI(provider.getDeviceAuthorizationEndpointURI()).build();
    var response = DeviceAuthorizationResponse.parse(request.toHTTPRequest().send());
    if (!response.indicatesSuccess()) throw new GeneralException(response.toErrorResponse().getErrorObject());
    return response.toSuccessResponse();
  }

  /**
   * Polls until the user has decided: with a CIBAGrant or a DeviceCodeGrant, and the interval in seconds of the answer.
   * `pending` gets the error of each poll before. A denial and the expiry are exceptions with their error object.
   */
  public User poll(AuthorizationGrant grant, long interval, Consumer<String> pending) throws Exception {
    for (long seconds = interval; ; ) {
      Thread.sleep(1000 * seconds);
      var response = OIDCTokenResponseParser.parse(pollOnce(grant));
      if (response.indicatesSuccess()) return user(((OIDCTokenResponse) response.toSuccessResponse()).getOIDCTokens());
      var error = response.toErrorResponse().getErrorObject();
      boolean isEarly = DeviceAuthorizationGrantError.SLOW_DOWN.equals(error);
      if (!isEarly && !DeviceAuthorizationGrantError.AUTHORIZATION_PENDING.equals(error))
        throw new GeneralException(error);
      if (isEarly) seconds += 5;
      pending.accept(error.getCode());
    }
  }

  /** Polls once. */
  public HTTPResponse pollOnce(AuthorizationGrant grant) throws Exception {
    var token = provider.getTokenEndpointURI();
    var request = authentication == null
        ? new TokenRequest.Builder(token, settings.clientId, grant)
        : new TokenRequest.Builder(token, authentication, grant);
    return request.build().toHTTPRequest().send();
  }

  private User user(OIDCTokens tokens) throws Exception {
    var keys = provider.getJWKSetURI().toURL();
    var validator = new IDTokenValidator(settings.issuer, settings.clientId, JWSAlgorithm.RS256, keys);
    return new User(tokens, validator.validate(tokens.getIDToken(), null));
  }
}

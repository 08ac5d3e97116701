// FapiClient.java
import com.nimbusds.jose.*;
import com.nimbusds.jose.crypto.factories.DefaultJWSSignerFactory;
import com.nimbusds.jose.jwk.*;
import com.nimbusds.jose.jwk.gen.ECKeyGenerator;
import com.nimbusds.jwt.*;
import com.nimbusds.oauth2.sdk.*;
import com.nimbusds.oauth2.sdk.auth.*;
import com.nimbusds.oauth2.sdk.dpop.*;
import com.nimbusds.oauth2.sdk.http.*;
import com.nimbusds.oauth2.sdk.id.*;
import com.nimbusds.oauth2.sdk.jarm.JARMValidator;
import com.nimbusds.oauth2.sdk.pkce.*;
import com.nimbusds.oauth2.sdk.token.*;
import com.nimbusds.openid.connect.sdk.*;
import com.nimbusds.openid.connect.sdk.claims.*;
import com.nimbusds.openid.connect.sdk.op.*;
import com.nimbusds.openid.connect.sdk.token.OIDCTokens;
import com.nimbusds.openid.connect.sdk.validators.IDTokenValidator;
import java.net.URI;
import java.time.Instant;
import java.util.*;
import java.util.concurrent.Callable;
import javax.net.ssl.SSLSocketFactory;

/** A FAPI 2.0 client. */
public final class FapiClient {
  /** `key` signs assertions and request objects. `certificate` is for connections with the client certificate. */
  public record Settings(Issuer issuer, ClientID clientId, URI redirectUri, JWSAlgorithm algorithm,
      String authentication, String binding, String messages, JWK key, SSLSocketFactory certificate) {}

  /** A sign-in that has begun. Redirect the browser to `url`, and store the other values in its session. */
  public record Begun(URI url, State state, Nonce nonce, CodeVerifier verifier) {}

  /** A user who has signed in. */
  public record User(OIDCTokens tokens, IDTokenClaimsSet claims, UserInfo userinfo) {}

  private final Settings settings;
  private final OIDCProviderMetadata provider;
  private final URI par, token, userinfo;
  private final DPoPProofFactory proofs;
  private Nonce nonce;

  /** Configures the client from the discovery document of the issuer. */
  public FapiClient(Settings settings) throws Exception {
    this.settings = settings;
    provider = OIDCProviderMetadata.resolve(settings.issuer);
    boolean byCertificate = settings.certificate != null;
    var aliases = byCertificate ? provider.getReadOnlyMtlsEndpointAliases() : provider;
    par = aliases.getPushedAuthorizationRequestEndpointURI();
    token = aliases.getTokenEndpointURI();
    userinfo = aliases.getUserInfoEndpointURI();
    proofs = settings.binding.equals("dpop")
        ? new DefaultDPoPProofFactory(new ECKeyGenerator(Curve.P_256).generate(), JWSAlgorithm.ES256) : null;
  }

  /** Begins a sign-in. */
  public Begun begin(String scope) throws Exception {
    var begun = new Begun(null, new State(), new Nonce(), new CodeVerifier());
    var builder = new AuthenticationRequest.Builder(
            ResponseType.CODE, Scope.parse(scope), settings.clientId, settings.redirectUri)
        .state(begun.state).nonce(begun.nonce).codeChallenge(begun.verifier, CodeChallengeMethod.S256);
    // A refresh token needs the consent of the user.
    if (Scope.parse(scope).contains("offline_access")) builder.prompt(Prompt.Type.CONSENT);
    if (settings.messages.equals("signed_response")) builder.responseMode(ResponseMode.JWT);
    var request = settings.messages.equals("signed_request")
        ? new AuthenticationRequest.Builder(signed(builder.build()), settings.clientId).build() : builder.build();
    var response = send(() -> new PushedAuthorizationRequest(par, authentication(), request).toHTTPRequest(), null);
    var pushed = PushedAuthorizationResponse.parse(response);
    if (!pushed.indicatesSuccess()) throw new GeneralException(pushed.toErrorResponse().getErrorObject());
    var url = new AuthorizationRequest.Builder(pushed.toSuccessResponse().getRequestURI(), settings.clientId)
        .endpointURI(provider.getAuthorizationEndpointURI()).build().toURI();
    return new Begun(url, begun.state, begun.nonce, begun.verifier);
  }

  /** Ends the sign-in: the browser returned to this URL of the application. */
  public User finish(URI url, Begun begun) throws Exception {
    var keys = provider.getJWKSetURI().toURL();
    var response = settings.messages.equals("signed_response")
        ? AuthenticationResponseParser.parse(
            url, new JARMValidator(settings.issuer, settings.clientId, settings.algorithm, keys))
        : AuthenticationResponseParser.parse(url);
    if (!begun.state.equals(response.getState())) throw new GeneralException("another state");
    if (response.getJWTResponse() == null && !settings.issuer.equals(response.getIssuer()))
      throw new GeneralException("another issuer");
    if (!response.indicatesSuccess()) throw new GeneralException(response.toErrorResponse().getErrorObject());
    var code = response.toSuccessResponse().getAuthorizationCode();
    return user(new AuthorizationCodeGrant(code, settings.redirectUri, begun.verifier), begun.nonce);
  }

  /** Refreshes the tokens. Store the refresh token of the result. */
  public User refresh(RefreshToken refreshToken) throws Exception {
    return user(new RefreshTokenGrant(refreshToken), null);
  }

  private User user(AuthorizationGrant grant, Nonce expected) throws Exception {
    var response = OIDCTokenResponseParser.parse(
        send(() -> new TokenRequest.Builder(token, authentication(), grant).build().toHTTPRequest(), null));
    if (!response.indicatesSuccess()) throw new GeneralException(response.toErrorResponse().getErrorObject());
    var tokens = ((OIDCTokenResponse) response.toSuccessResponse()).getOIDCTokens();
    var keys = provider.getJWKSetURI().toURL();
    var validator = new IDTokenValidator(settings.issuer, settings.clientId, settings.algorithm, keys);
    var claims = validator.validate(tokens.getIDToken(), expected);
    var access = tokens.getAccessToken();
    var about = UserInfoResponse.parse(send(() -> new UserInfoRequest(userinfo, access).toHTTPRequest(), access));
    if (!about.indicatesSuccess()) throw new GeneralException(about.toErrorResponse().getErrorObject());
    var user = about.toSuccessResponse().getUserInfo();
    if (!user.getSubject().equals(claims.getSubject())) throw new GeneralException("another user");
    return new User(tokens, claims, user);
  }

  /** Returns an authentication for one request. The audience of an assertion is the issuer. */
  private ClientAuthentication authentication() throws JOSEException {
    if (!settings.authentication.equals("private_key_jwt"))
      return new SelfSignedTLSClientAuthentication(settings.clientId, settings.certificate);
    var key = ((AsymmetricJWK) settings.key).toPrivateKey();
    var audience = URI.create(settings.issuer.getValue());
    return new PrivateKeyJWT(settings.clientId, audience, settings.algorithm, key, settings.key.getKeyID(), null);
  }

  /** Returns the request as a request object. */
  private SignedJWT signed(AuthenticationRequest request) throws Exception {
    var now = Instant.now();
    var claims = new JWTClaimsSet.Builder(request.toJWTClaimsSet())
        .issuer(settings.clientId.getValue()).audience(settings.issuer.getValue())
        .notBeforeTime(Date.from(now)).expirationTime(Date.from(now.plusSeconds(60)));
    var header = new JWSHeader.Builder(settings.algorithm)
        .type(new JOSEObjectType("oauth-authz-req+jwt")).keyID(settings.key.getKeyID());
    var jwt = new SignedJWT(header.build(), claims.build());
    jwt.sign(new DefaultJWSSignerFactory().createJWSSigner(settings.key, settings.algorithm));
    return jwt;
  }

  /** Sends a request with the certificate and the proof that it needs. */
  private HTTPResponse send(Callable<HTTPRequest> request, AccessToken access) throws Exception {
    for (boolean isRepeated = false; ; isRepeated = true) {
      var sent = request.call();
      if (settings.certificate != null) sent.setSSLSocketFactory(settings.certificate);
      if (proofs != null)
        sent.setDPoP(proofs.createDPoPJWT(sent.getMethod().name(), sent.getURI(), access, nonce));
      var response = sent.send();
      var next = response.getDPoPNonce();
      boolean isOther = next != null && !next.equals(nonce);
      if (isOther) nonce = next;
      // A failure with another nonce: the server requires that nonce in the proof.
      if (!isOther || isRepeated || response.indicatesSuccess()) return response;
    }
  }
}

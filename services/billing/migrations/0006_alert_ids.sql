-- An alert has the same id whoever raises it: what is settled again after a restore raises it again, and who has heard of it
-- knows it by its id. A UUID of version 8 (RFC 9562, 5.8), of what makes an alert happen once.
CREATE FUNCTION name_alert() RETURNS trigger LANGUAGE plpgsql SET search_path = ${schema}, pg_temp
  AS $$
    DECLARE
      digest text := encode(sha256(convert_to(format('%s %s %s %s', NEW.account, NEW.subject, NEW.period, NEW.threshold), 'UTF8')), 'hex');
    BEGIN
      NEW.id := substr(digest, 1, 12) || '8' || substr(digest, 14, 3) || '8' || substr(digest, 18, 15);
      RETURN NEW;
    END
  $$;
CREATE TRIGGER name BEFORE INSERT ON alerts FOR EACH ROW EXECUTE FUNCTION name_alert();
